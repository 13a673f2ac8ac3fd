"""Weights from files that may be of another model, damaged or hostile."""

import hashlib
import io
import math
import pickle
import pickletools
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.models.base import VisionModel
from fer_lightning.models.layers.transformer import PatchEmbed

CONTAINERS = ("state_dict_ema", "state_dict", "model_ema", "model")  # keys that hold the weights
NET = "net."  # of the model's weights inside the LightningModule's
HEAD = "head."
LEAST_SHARE = 0.5  # of a part's weights that a file must hold to be of the same architecture
# What a file of tensors and plain values names; torch itself would also call bytearray and
# FloatTensor, which take as much memory as a number in the file says.
NAMED = frozenset(
    {
        "collections OrderedDict",
        "collections Counter",
        "torch._utils _rebuild_tensor",
        "torch._utils _rebuild_tensor_v2",
        "torch._utils _rebuild_parameter",
        "torch.nn.parameter Parameter",
        "torch Size",
        "torch device",
        "_codecs encode",
        "builtins set",
        "__builtin__ set",
    }
)
MOST_STEPS = 2_000_000  # of a pickle; a checkpoint of this package takes about 10,000
LEGACY_PICKLES = 5  # of the format before torch 1.6; the last two hold the values and their keys
ZIP = b"PK\x03\x04"  # the first bytes, by which torch tells its two formats apart
END, END_64 = 22, 98  # bytes behind an archive's list of members
FREE = 1 << 20  # bytes that any file may ask for
MOST_TIMES = 4  # how often the tensors may hold the bytes of the file; tied weights are in it once
UNCOUNTED = "num_batches_tracked"  # of BatchNorm: says nothing about an architecture


def read_weights(path: str | Path) -> dict[str, Tensor]:
    """Read a safetensors file or a torch checkpoint of weights; no code in it is executed.

    Of a checkpoint of a training only the model's weights are returned.

    Raises:
        UserError: there is no such file, or it does not hold weights only.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"expected a file of weights but there is none at {path}; check the path")
    content = _read_safetensors(path) if path.suffix == ".safetensors" else _read_torch(path)
    for container in CONTAINERS:
        if isinstance(content, Mapping) and isinstance(content.get(container), Mapping):
            content = content[container]
            break
    if not isinstance(content, Mapping) or not content:
        raise UserError(f"expected named weights but got {type(content).__name__} in {path}")
    for key, value in content.items():
        if not isinstance(key, str) or not isinstance(value, Tensor):
            raise UserError(
                f"expected named weights but got {type(value).__name__} under {key!r:.40} in {path}"
            )
    weights = strip_prefixes(content)
    inside = {k.removeprefix(NET): v for k, v in weights.items() if k.startswith(NET)}
    return inside or weights


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, LookupError, ValueError, RuntimeError, OSError) as error:
        raise UserError(f"expected a safetensors file but {path} is none ({error})") from error


def _read_torch(path: Path) -> Any:
    try:
        return load_torch(path)
    except pickle.UnpicklingError as error:
        raise UserError(
            f"expected weights only, but {path} holds other objects, which could execute code, or "
            "is no torch checkpoint; save the model's state_dict() or use safetensors"
        ) from error
    except NOT_TORCH as error:
        raise UserError(
            f"expected a torch checkpoint but {path} is damaged or of another kind; fetch it again"
        ) from error


# what torch raises where a file is cut, mutated, or none of its own
NOT_TORCH = (
    RuntimeError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    OSError,
    MemoryError,
    struct.error,
    zipfile.BadZipFile,
)


def load_torch(path: Path) -> Any:
    """Read a torch file: no code is executed, and no more memory taken than the file is large.

    Raises:
        pickle.UnpicklingError: it names something else than tensors and plain values.
        NOT_TORCH: it is damaged, or asks for more memory.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(ZIP)) == ZIP:
            file.seek(-min(size, END_64), io.SEEK_END)
            _check_end(file.read(), size)
            _check_zip(path, size)
        else:  # of before torch 1.6: pickles one after the other
            file.seek(0)
            for number in range(LEGACY_PICKLES):
                most = max(size, FREE) if number >= LEGACY_PICKLES - 2 else None
                _check_names(file, most, old=True)
    content = torch.load(path, map_location="cpu", weights_only=True)
    needed = sum(tensor.numel() * tensor.element_size() for tensor in _tensors(content))
    if needed > max(FREE, MOST_TIMES * size):
        raise ValueError(f"its tensors would take {needed:,} bytes, the file has {size:,}")
    return content


def _check_end(end: bytes, size: int) -> None:
    """Refuse an archive whose list of members does not lie right before its end.

    Python would read it there, and torch where a number in the file says.

    Args:
        end: the last bytes of the file.
        size: of the file, bytes.
    """
    magic, length, offset, comment = struct.unpack("<4s8xIIH", end[-END:])
    place, whole = size - END, magic == b"PK\x05\x06" and not comment
    if end[-END - 20 :][:4] == b"PK\x06\x07":  # numbers of 64 bits
        place, small = size - END_64, (length, offset)
        magic, length, offset, found = struct.unpack("<4s36xQQ8xQ", end[: END_64 - END - 4])
        fit = all(
            one in (0xFFFFFFFF, two) for one, two in zip(small, (length, offset), strict=True)
        )
        whole = whole and magic == b"PK\x06\x06" and found == place and fit
    if not whole or offset + length != place:
        raise ValueError("its list of members could be read at two places")


def _check_zip(path: Path, size: int) -> None:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > size:  # compressed, or one inside another
            raise ValueError(f"it unpacks to more than its {size:,} bytes")
        for member in members:
            if member.filename.lower().endswith("data.pkl"):  # torch finds it in capitals, too
                _check_names(io.BytesIO(archive.read(member)))


def _check_names(pickled: IO[bytes], most: int | None = None, old: bool = False) -> None:
    """Refuse a pickle that names anything to call but what tensors and plain values need.

    Args:
        pickled: read up to the end of the first pickle.
        most: elements that a tensor may have. The old format takes room for as many as a number in
            it says; the new one compares the number with what is there.
        old: of the old format, which has no names by the stack.
    """
    for step, (opcode, value, _) in enumerate(pickletools.genops(pickled)):
        if step > MOST_STEPS:
            raise ValueError(f"its values take more than {MOST_STEPS:,} steps to make")
        if opcode.name == "GLOBAL" and not _is_plain(str(value)):
            raise pickle.UnpicklingError(f"it names {value}")
        if old and opcode.name == "STACK_GLOBAL":
            raise pickle.UnpicklingError("it names something as no torch file of before 1.6 does")
        of_size = opcode.name.startswith(("BININT", "LONG1"))
        if most is not None and of_size and isinstance(value, int) and value > most:
            raise ValueError(f"it asks for {value:,} elements, the file has {most:,} bytes")


def _is_plain(name: str) -> bool:
    """Tell whether a name of a pickle stands for plain values, or a kind of number or storage."""
    module, _, kind = name.partition(" ")
    if module != "torch" or kind in ("TypedStorage", "UntypedStorage"):
        return name in NAMED
    is_type = isinstance(getattr(torch, kind, None), torch.dtype)
    return name in NAMED or is_type or kind.endswith("Storage")


def _tensors(value: Any, levels: int = 8) -> Iterator[Tensor]:
    """Yield the tensors in nested containers."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping | list | tuple) and levels:
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(inner, levels - 1)


def strip_prefixes(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Remove what torch.compile and data parallelism put before the names of weights."""
    names = {key: key.replace("_orig_mod.", "") for key in state_dict}
    while names and all(name.startswith("module.") for name in names.values()):
        names = {key: name.removeprefix("module.") for key, name in names.items()}
    return {name: state_dict[key] for key, name in names.items()}


def load_weights(model: nn.Module, state_dict: Mapping[str, Tensor], origin: str) -> None:
    """Load all weights of a model, or none and say what does not fit.

    Args:
        model: the model, compiled in place or not.
        state_dict: its weights, with or without the prefixes that `strip_prefixes` removes.
        origin: where the weights come from, for the message.

    Raises:
        UserError: names or shapes differ.

    >>> one, other = nn.Linear(2, 1), nn.Linear(2, 1)
    >>> load_weights(one, other.state_dict(), "a file")
    >>> bool((one.weight == other.weight).all())
    True
    """
    given = strip_prefixes(state_dict)
    difference = compare(model.state_dict(), given)
    if difference:
        raise UserError(
            f"expected the weights of {type(model).__name__} but {origin} differs: {difference}; "
            "choose the model that they belong to"
        )
    model.load_state_dict(given)


def compare(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> str:
    """Say how many weights are missing, unexpected or of another shape; "" when all fit."""
    missing = [name for name in wanted if name not in given]
    unexpected = [name for name in given if name not in wanted]
    shapes = [
        f"{name}: {list(given[name].shape)}, not {list(wanted[name].shape)}"
        for name in wanted
        if name in given and given[name].shape != wanted[name].shape
    ]
    kinds = {"missing": missing, "unexpected": unexpected, "of another shape": shapes}
    return ", ".join(
        f"{len(names)} {kind} ({names[0]}{', ...' if names[1:] else ''})"
        for kind, names in kinds.items()
        if names
    )


def _adapt(model: VisionModel, name: str, given: Tensor, wanted: Tensor) -> Tensor | None:
    """Return a weight in the shape that the model wants; None if there is no way.

    Positions are interpolated to the model's grid. The first layer takes the model's channels.
    """
    if given.shape == wanted.shape:
        return given
    if name.split(".")[-1] == "pos_embed" and given.ndim == wanted.ndim == 3:
        for prefix in dict.fromkeys((model.num_prefix_tokens, 0)):  # some have none for [CLS]
            if (found := _resize_positions(given, wanted, prefix)) is not None:
                return found
        return None
    if name != _first_layer(model) or given.ndim != wanted.ndim or len(given) != len(wanted):
        return None
    if given.ndim == 4 and given.shape[2:] == wanted.shape[2:]:
        return _change_channels(given, wanted.shape[1])
    if given.ndim == 2:
        patch: PatchEmbed = model.get_submodule(name.rpartition(".")[0].rpartition(".")[0])  # type: ignore[assignment]
        pixels = patch.patch_size**2
        if given.shape[1] % pixels == 0:
            as_convolution = given.unflatten(1, (-1, patch.patch_size, patch.patch_size))
            changed = _change_channels(as_convolution, wanted.shape[1] // pixels)
            return None if changed is None else changed.flatten(1)
    return None


def _first_layer(model: nn.Module) -> str | None:
    """Return the name of the weight that reads the images: of a convolution or patch embedding."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Conv2d):
            return f"{name}.weight"
        if isinstance(module, PatchEmbed):
            return f"{name}.proj.weight"
    return None


def _change_channels(weight: Tensor, channels: int) -> Tensor | None:
    """Return the weight of a first convolution, (O, I, h, w), for images of other channels.

    The answer to a grey image stays the same, in however many channels it comes. From three
    channels to more, timm's way; from others to more there is none.
    """
    if weight.shape[1] == 1:
        return weight.repeat(1, channels, 1, 1) / channels
    if channels == 1:
        return weight.sum(1, keepdim=True)
    if weight.shape[1] != 3:
        return None
    from timm.models import adapt_input_conv  # slow to import

    return adapt_input_conv(channels, weight)


def _resize_positions(given: Tensor, wanted: Tensor, prefix: int) -> Tensor | None:
    """Interpolate positions on a square grid, (1, prefix + n, D), to another square grid."""
    counts = [positions.shape[1] - prefix for positions in (given, wanted)]
    sides = [math.isqrt(max(count, 0)) for count in counts]
    if given.shape[::2] != wanted.shape[::2] or [s * s for s in sides] != counts or 0 in sides:
        return None
    from timm.layers import resample_abs_pos_embed  # slow to import

    return resample_abs_pos_embed(
        given, [sides[1]] * 2, old_size=[sides[0]] * 2, num_prefix_tokens=prefix
    )


def load_pretrained(
    model: VisionModel, path: str, part: str, starts: tuple[str, ...], keep_head: bool = False
) -> dict[str, Any]:
    """Load what a file holds of a part of a model, and say what came of every weight.

    Args:
        model: the model.
        path: the file, see `read_weights`.
        part: the name of the part, for the report.
        starts: how the names of the part's weights begin.
        keep_head: load the head, too.

    Returns:
        Plain values: ``file``, ``sha256``, ``part``; ``loaded`` of ``wanted`` weights; ``adapted``,
        ``other_shape`` (left as they were), each with both shapes; ``missing`` in the file;
        ``unexpected`` in it, of which the model has none.

    Raises:
        UserError: the file cannot be read, or holds less than half of the part's weights.
    """
    own = model.state_dict()
    wanted = {name: value for name, value in own.items() if name.startswith(starts)}
    given = _rename(read_weights(path), own, wanted)
    if keep_head:
        wanted |= _head(own, given, path)
    taken = {
        name: fitting
        for name, value in wanted.items()
        if name in given and (fitting := _adapt(model, name, given[name], value)) is not None
    }
    counted = [name for name in wanted if not name.endswith(UNCOUNTED)]
    if sum(name in taken for name in counted) < LEAST_SHARE * len(counted):
        relevant = {n: v for n, v in given.items() if n in wanted or n not in own}
        raise UserError(
            f"expected the weights of the {part} of {type(model).__name__} but {path} differs: "
            f"{compare(wanted, relevant)}; choose the model and the sizes that they belong to"
        )
    model.load_state_dict(taken, strict=False)
    shapes = {
        name: f"{list(given[name].shape)} in the file, {list(wanted[name].shape)} in the model"
        for name in wanted
        if name in given and given[name].shape != wanted[name].shape
    }
    return {
        "file": path,
        "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        "part": part + (" and head" if keep_head else ""),
        "loaded": len(taken),
        "wanted": len(wanted),
        "adapted": {name: text for name, text in shapes.items() if name in taken},
        "other_shape": {name: text for name, text in shapes.items() if name not in taken},
        "missing": [name for name in wanted if name not in given],
        "unexpected": [name for name in given if name not in own],
    }


def _rename(
    given: Mapping[str, Tensor], own: Mapping[str, Tensor], wanted: Mapping[str, Tensor]
) -> Mapping[str, Tensor]:
    """Write the names of a file of a part alone, or of a timm backbone, as the model's."""
    outer = [f"{name.split('.')[0]}." for name in wanted if "." in name]
    best = max(
        ("", *dict.fromkeys(outer)),
        key=lambda prefix: sum(prefix + name in wanted for name in given),
    )
    return {best + name if best + name in own else name: value for name, value in given.items()}


def _head(own: Mapping[str, Tensor], given: Mapping[str, Tensor], path: str) -> dict[str, Tensor]:
    """Return the head's weights if the file has them in the same shape."""
    head = {name: value for name, value in own.items() if name.startswith(HEAD)}
    if difference := compare(head, {n: v for n, v in given.items() if n.startswith(HEAD)}):
        raise UserError(
            f"expected a head of the same classes in {path} but it differs: {difference}; "
            "set transfer.head to new"
        )
    return head


def tell(report: Mapping[str, Any]) -> str:
    """Say in one line what came from a file."""
    texts = {
        "adapted": "adapted",
        "other_shape": "of another shape, left new",
        "missing": "missing in it, left new",
        "unexpected": "in it that the model has not",
    }
    counts = [
        f"{len(names)} {text} ({', '.join(names[:3])}{', ...' if names[3:] else ''})"
        for key, text in texts.items()
        if (names := list(report[key]))
    ]
    start = f"{report['loaded']} of {report['wanted']} of the {report['part']}"
    return "; ".join([f"Weights: {start} from {report['file']}", *counts])
