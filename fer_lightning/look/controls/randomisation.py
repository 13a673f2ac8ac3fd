"""Cascading randomisation: do the maps depend on what the model has learned?"""

from itertools import pairwise

from torch import Tensor, nn

from fer_lightning.look.controls.hiding import answers
from fer_lightning.look.controls.null_maps import untrained_twin
from fer_lightning.look.frozen import BATCH, innermost
from fer_lightning.look.heat import to_heat
from fer_lightning.look.methods import explain
from fer_lightning.look.metrics.summary import pearson, spearman

Row = dict[str, float | int | str]


def layers_top_down(model: nn.Module) -> list[str]:
    """Return the names of all modules with parameters of their own, from the head to the input.

    They are taken in the order in which the model defines them, so parameters of the whole model
    (positions, [CLS]) come last; their name is empty.

    >>> from fer_lightning.models import CNN
    >>> layers_top_down(CNN())[:3]
    ['head', 'feature_layer.1', 'stages.norm4']
    """
    named = innermost(model).named_modules()
    return [name for name, module in named if any(True for _ in module.parameters(False))][::-1]


def stages_top_down(layers: list[str], stages: int) -> list[list[str]]:
    """Divide layers into at most so many groups: the first alone, the others in equal numbers.

    >>> stages_top_down(["head", "d", "c", "b", "a"], stages=3)
    [['head'], ['d', 'c'], ['b', 'a']]
    """
    head, below = layers[:1], layers[1:]
    groups = min(max(stages - 1, 1), len(below))
    ends = [round(len(below) * i / groups) for i in range(groups + 1)] if groups else []
    return [head, *(below[a:b] for a, b in pairwise(ends))]


def randomisation(
    model: nn.Module,
    images: Tensor,
    seed: int = 0,
    stages: int = 8,
    method: str = "grad_cam",
    batch_size: int = BATCH,
) -> list[Row]:
    """Replace the layers of a model, from the top down, by those of an untrained twin.

    At each stage all layers above are untrained already (Adebayo et al., Sanity checks for
    saliency maps, 2018), BatchNorm statistics included; the last stage is the twin itself. Maps of
    the class that the trained model predicts are compared with the trained model's own. Maps that
    stay alike show the architecture and the image, not what was learned.

    Args:
        model: a `VisionModel`; it is not changed.
        images: (N, C, H, W) floats in [0, 1].
        seed: of the twin.
        stages: into how many the layers are divided at most.
        method: as for `explain`.
        batch_size: images in one pass.

    Returns:
        Two rows per stage, `map` "signed" (at the method's own grid) and "heat" (positive part, at
        the image's size): `stage`, the `layer` reached, how many `layers` and which share of the
        `parameters` are untrained, the mean `spearman` and `pearson` over images, `undefined`
        (images without a correlation, because a map is zero), and `same_prediction`.
    """
    size = (images.shape[2], images.shape[3])
    changing, twin = untrained_twin(model, seed), untrained_twin(model, seed)
    changing.load_state_dict(innermost(model).state_dict())
    target = answers(changing, images, batch_size).argmax(1).to(images.device)
    before = explain(changing, images, target, method, batch_size)
    total = sum(p.numel() for p in changing.parameters())
    rows: list[Row] = []
    done: list[str] = []
    for stage, group in enumerate(stages_top_down(layers_top_down(changing), stages), start=1):
        for name in group:
            _copy_own(twin.get_submodule(name), changing.get_submodule(name))
        done += group
        after = explain(changing, images, target, method, batch_size)
        predicted = answers(changing, images, batch_size).argmax(1).to(images.device)
        same = (predicted == target).double().mean().item()
        replaced = sum(p.numel() for n in done for p in changing.get_submodule(n).parameters(False))
        for kind in ("signed", "heat"):
            a, b = (maps if kind == "signed" else to_heat(maps, size) for maps in (before, after))
            rows.append(
                {
                    "stage": stage,
                    "layer": group[-1] or "(the model itself)",
                    "layers": len(done),
                    "parameters": replaced / total,
                    "map": kind,
                    **_similarity(a, b),
                    "same_prediction": same,
                }
            )
    return rows


def _copy_own(source: nn.Module, target: nn.Module) -> None:
    """Copy a module's parameters and buffers, not those of the modules in it."""
    for kind in ("parameters", "buffers"):
        ours = dict(getattr(target, f"named_{kind}")(recurse=False))
        for name, tensor in getattr(source, f"named_{kind}")(recurse=False):
            ours[name].data.copy_(tensor.data)


def _similarity(a: Tensor, b: Tensor) -> Row:
    """Correlate two stacks of maps, (N, h, w)."""
    a, b = a.flatten(1), b.flatten(1)
    ranks, values = spearman(a, b), pearson(a, b)
    return {
        "spearman": ranks.nanmean().item(),
        "pearson": values.nanmean().item(),
        "n": len(a),
        "undefined": int(values.isnan().sum()),
    }
