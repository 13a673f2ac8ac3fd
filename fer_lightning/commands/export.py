"""``fer-lightning export``: a checkpoint as a file for other programs, or as small weights."""

import argparse
import json
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fer_lightning import __version__
from fer_lightning.commands.checkpoints import Checkpoint, load_checkpoints
from fer_lightning.commands.options import Options
from fer_lightning.data.augment import to_float
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.readers.pictures import as_input
from fer_lightning.errors import UserError
from fer_lightning.look.frozen import frozen_eval
from fer_lightning.models import VisionModel, describe
from fer_lightning.models.shipped_weights import SUFFIX, write_half
from fer_lightning.runs.files import atomic
from fer_lightning.training.checkpoint import load_net

FORMATS = {"onnx": ".onnx", "torchscript": ".pt", "safetensors": SUFFIX}
OUTPUTS = ("probabilities", "logits")
TOLERANCE = 1e-4  # of a probability or a logit
HALF_TOLERANCE = 0.05  # where weights are rounded to half precision
FACES = 14  # drawn faces on which both must agree, two of each expression
METADATA = "fer_lightning.json"  # of a TorchScript file


class WithPixels(nn.Module):
    """A model that takes bytes, (N, C, H, W), and answers with probabilities and logits."""

    def __init__(self, net: VisionModel) -> None:
        super().__init__()
        self.net = net

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Scale to [0, 1], then as the model was trained (it carries its own mean and SD)."""
        logits = self.net.forward(to_float(images))
        return logits.softmax(1), logits


def metadata(checkpoint: Checkpoint, batch: int | None) -> dict[str, str]:
    """Say what the file is and what its numbers mean, as text values."""
    _, channels, size, _ = checkpoint.net.input_shape()
    return {
        "written_by": f"fer_lightning {__version__}",
        "classes": json.dumps(checkpoint.classes),
        "model": json.dumps(describe(checkpoint.net)),
        "trained_on": checkpoint.trained_on,
        "input": f"uint8 ({batch or 'N'}, {channels}, {size}, {size}), pixels from 0 to 255",
        "output": f"{', '.join(OUTPUTS)}: ({batch or 'N'}, {len(checkpoint.classes)}) each",
    }


def samples(net: VisionModel, count: int = FACES) -> Tensor:
    """Drawn faces as the model takes them, (count, C, H, W) bytes."""
    _, channels, size, _ = net.input_shape()
    drawn = drawn_faces(max(7, count), with_masks=False).images[:count, 0]
    return torch.from_numpy(np.stack([as_input(face, channels, size) for face in drawn]))


def difference(net: VisionModel, run: Any, batch: int | None) -> float:
    """Return the largest difference between torch's answers and those of `run`.

    Args:
        net: the model.
        run: takes bytes, (N, C, H, W), and returns probabilities and logits.
        batch: the only N that `run` takes; None takes any.
    """
    images = samples(net)
    with frozen_eval(net) as inner, torch.no_grad():
        wanted = WithPixels(inner)(images)
    answers = [run(part) for part in images.split(batch or len(images))]
    found = [torch.cat([torch.as_tensor(one[k]) for one in answers]) for k in range(len(OUTPUTS))]
    return max((a - b).abs().max().item() for a, b in zip(wanted, found, strict=True))


def to_torchscript(checkpoint: Checkpoint, path: Path) -> tuple[Any, int | None]:
    """Write a TorchScript file; return a function that runs it, and the batch that it takes.

    Raises:
        UserError: the model cannot be traced.
    """
    with frozen_eval(checkpoint.net) as net, torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shapes that become constants, which we test
        module = WithPixels(net)

        def forward(images: Tensor) -> tuple[Tensor, Tensor]:
            return module(images)  # a traced module would have every property of a model compiled

        try:
            traced = torch.jit.trace(forward, samples(net), check_trace=False)
            batch = None if _takes_any(traced, net) else 1
            if batch:
                traced = torch.jit.trace(forward, samples(net, batch), check_trace=False)
        except (RuntimeError, TypeError, ValueError) as error:
            raise _cannot(checkpoint, "TorchScript", error) from error
        extra = {METADATA: json.dumps(metadata(checkpoint, batch))}
        torch.jit.save(traced, str(path), _extra_files=extra)
        return torch.jit.load(str(path), map_location="cpu"), batch


def _takes_any(run: Any, net: VisionModel) -> bool:
    """Whether a traced model answers about another number of images as about one by one."""
    images = samples(net, 3)
    try:
        together = run(images)[1]
        return bool(torch.allclose(together, WithPixels(net)(images)[1], atol=TOLERANCE))
    except RuntimeError:
        return False


def to_onnx(checkpoint: Checkpoint, path: Path) -> tuple[Any, int | None]:
    """Write an ONNX file; return a function that runs it, and the batch that it takes.

    Raises:
        UserError: neither any nor one number of images can be exported.
    """
    import onnx

    program, batch = None, None
    for batch in (None, 1):
        try:
            program = _trace_onnx(checkpoint.net, batch)
        except Exception as error:  # torch's exporter raises what it meets
            if batch == 1:
                raise _cannot(checkpoint, "ONNX", error) from error
        else:
            if batch or _any_number(program):
                break
    assert program is not None
    model = program.model_proto
    onnx.helper.set_model_props(model, metadata(checkpoint, batch))
    path.write_bytes(model.SerializeToString())
    return run_onnx(path), batch


def _trace_onnx(net: VisionModel, batch: int | None) -> Any:
    any_number = {0: torch.export.Dim("N", min=1, max=4096)}
    with frozen_eval(net) as inner, torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.onnx.export(
            WithPixels(inner).eval(),
            (samples(inner, batch or 2),),
            dynamo=True,
            input_names=["images"],
            output_names=list(OUTPUTS),
            dynamic_shapes=None if batch else {"images": any_number},
            verbose=False,
        )


def _any_number(program: Any) -> bool:
    """Whether the number of images was left open; the exporter may fix it without a word."""
    return bool(program.model_proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param)


def run_onnx(path: Path) -> Any:
    """Return a function that lets onnxruntime answer about bytes, (N, C, H, W)."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda images: session.run(list(OUTPUTS), {"images": images.numpy()})


def to_safetensors(checkpoint: Checkpoint, path: Path) -> tuple[Any, int | None]:
    """Write the weights in half precision; return the model that has them, and no fixed batch."""
    write_half(path, checkpoint.net.state_dict(), checkpoint.about)
    return WithPixels(load_net(path)[0]), None


WRITERS = {"onnx": to_onnx, "torchscript": to_torchscript, "safetensors": to_safetensors}


def _cannot(checkpoint: Checkpoint, what: str, error: Exception) -> UserError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    why = f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]
    return UserError(
        f"expected a model that can be exported to {what} but {type(checkpoint.net).__name__} of "
        f"{checkpoint.name} cannot ({why}); try another --format"
    )


def parser() -> argparse.ArgumentParser:
    """Return the command's options."""
    options = Options(prog="fer-lightning export", description=__doc__)
    options.add_argument(
        "--checkpoint", type=Path, required=True, help="such as best.ckpt, a run folder or flagship"
    )
    options.add_argument("--format", choices=tuple(FORMATS), required=True)
    options.add_argument("--out", type=Path, required=True, help="file to write")
    options.add_argument("--overwrite", action="store_true", help="replace an earlier file")
    return options


def main(argv: list[str]) -> int:
    """Write the file, and check that it answers as the model does."""
    args = parser().parse_args(argv)
    _check(args)
    (checkpoint,) = load_checkpoints([args.checkpoint])
    net = checkpoint.net.cpu()
    with tempfile.TemporaryDirectory() as folder:  # nothing is left behind where the check fails
        path = Path(folder, args.out.name)
        run, batch = WRITERS[args.format](checkpoint, path)
        with torch.no_grad():
            worst = difference(net, run, batch)
        allowed = HALF_TOLERANCE if args.format == "safetensors" else TOLERANCE
        if not worst <= allowed:
            raise UserError(
                f"expected the exported model to answer as torch does but it differs by up to "
                f"{worst:.2g}, more than {allowed:g}; nothing was written, try another --format"
            )
        with atomic(args.out, "wb") as file:
            file.write(path.read_bytes())
    size = args.out.stat().st_size
    print(f"{args.out}: {size:,} bytes, {metadata(checkpoint, batch)['input']}")
    if batch:
        print(f"Exported for {batch} image at a time: this model fixes its number of images")
    print(f"Largest difference from torch on {FACES} drawn faces: {worst:.1e}")
    return 0


def _check(args: argparse.Namespace) -> None:
    if args.out.suffix != FORMATS[args.format]:
        raise UserError(
            f"expected a file ending in {FORMATS[args.format]} but got {args.out.name}; rename it"
        )
    if not args.out.absolute().parent.is_dir():
        raise UserError(
            f"expected a folder for {args.out} but {args.out.absolute().parent} is none; make it "
            "first"
        )
    if args.out.exists() and not args.overwrite:
        raise UserError(
            f"expected a new file but {args.out} exists; choose another or give --overwrite"
        )
    needed = ("onnx", "onnxscript", "onnxruntime") if args.format == "onnx" else ()
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise UserError(
            f"expected {', '.join(missing)} but not installed; pip install 'fer-lightning[export]'"
        )
