"""How fast Grad-CAM is against pytorch-grad-cam and against a forward pass alone.

    python benchmarks/grad_cam.py

pytorch-grad-cam (package `grad-cam`) is no dependency of ours, so give it an environment of its
own:

    python -m venv bench-env
    bench-env/bin/pip install . grad-cam
    bench-env/bin/python benchmarks/grad_cam.py

Without it that column is left out. Prints a line per model: images/s of the forward pass
(no_grad), of ours (maps at the size of the images) and of pytorch-grad-cam, measured in turn in the
same run on copies of one model; then medians of the ratios of each turn. The targets are 2.2x
pytorch-grad-cam and 0.7x the forward pass. The last column is the largest difference between both
packages' maps, each scaled from 0 to 1; pytorch-grad-cam does so anyway.
"""

import argparse
import copy
import importlib.util
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from fer_lightning.look.controls.null_maps import wake_zeros
from fer_lightning.look.heat import to_heat
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.models import VisionModel, build

Run = Callable[[], np.ndarray]
MODELS = ("cnn", "vit", "swin", "timm")  # timm is resnet18
HAS_RIVAL = importlib.util.find_spec("pytorch_grad_cam") is not None


def make(name: str, images: Tensor) -> VisionModel:
    """An untrained model whose every part takes part."""
    torch.manual_seed(0)
    model = build(name)
    wake_zeros(model)
    with torch.no_grad():
        model.train()(images[:32])  # BatchNorm meets usual activations
        if isinstance(model.head, nn.Linear):
            model.head.weight *= 1000  # the rival adds 1e-7 to maxima, which shows in small maps
    return model.eval()


def forward_run(model: VisionModel, images: Tensor, batch_size: int) -> Run:
    model = copy.deepcopy(model)

    @torch.no_grad()
    def run() -> np.ndarray:
        return torch.cat([model(part) for part in images.split(batch_size)]).numpy()

    return run


def our_run(model: VisionModel, images: Tensor, batch_size: int) -> Run:
    model, side = copy.deepcopy(model), images.shape[-1]
    return lambda: to_heat(grad_cam(model, images, batch_size=batch_size).signed, side).numpy()


def rival_run(model: VisionModel, images: Tensor, batch_size: int) -> Run:
    from pytorch_grad_cam import GradCAM  # type: ignore[import-not-found]

    model = copy.deepcopy(model)
    cam = GradCAM(model=model, target_layers=[model.cam_layer], reshape_transform=model.to_grid)

    def run() -> np.ndarray:
        return np.concatenate(
            [cam(input_tensor=part, targets=None) for part in images.split(batch_size)]
        )

    return run


def stretched(heat: np.ndarray) -> np.ndarray:
    """Each map from 0 to 1, as pytorch-grad-cam returns it."""
    heat = heat - heat.min((1, 2), keepdims=True)
    highest = heat.max((1, 2), keepdims=True)
    return heat / np.where(highest > 0, highest, 1)


def seconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def verdict(turns: list[list[float]], other: int, ours: int, target: float) -> str:
    ratio = statistics.median(turn[other] / turn[ours] for turn in turns)
    return f"{ratio:5.2f}x {'reached' if ratio >= target else 'MISSED':<8}"


def measure(name: str, images: Tensor, batch_size: int, repeats: int) -> str:
    model = make(name, images)
    runs = [forward_run(model, images, batch_size), our_run(model, images, batch_size)]
    if HAS_RIVAL:
        runs.append(rival_run(model, images, batch_size))
    maps = [run() for run in runs]  # also the warm-up
    turns = [[seconds(run) for run in runs] for _ in range(repeats)]
    rates = [len(images) / statistics.median(times) for times in zip(*turns, strict=True)]
    line = f"{name:<6}" + "".join(f"{rate:12.0f}" for rate in rates)
    line += f"{'':<12}" * (3 - len(rates)) + "   " + verdict(turns, 0, 1, target=0.7)
    if HAS_RIVAL:
        difference = np.abs(stretched(maps[1]) - stretched(maps[2])).max()
        line += "   " + verdict(turns, 2, 1, target=2.2) + f"{difference:10.1e}"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description="Grad-CAM against pytorch-grad-cam.")
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()

    threads = torch.get_num_threads()
    print(f"{args.images} images of 48x48, batches of {args.batch_size}, {threads} threads")
    print(f"median of {args.repeats} turns; images/s, then ratios of ours")
    if not HAS_RIVAL:
        print("pytorch-grad-cam is not installed here: its column is left out, see the docstring")
    print(
        f"{'':<6}{'forward':>12}{'ours':>12}{'grad-cam':>12}   {'to forward':<15}"
        f"   {'to grad-cam':<15}{'differs':>9}"
    )
    images = torch.rand(args.images, 1, 48, 48, generator=torch.Generator().manual_seed(0))
    for name in MODELS:
        print(measure(name, images, args.batch_size, args.repeats), flush=True)


if __name__ == "__main__":
    main()
