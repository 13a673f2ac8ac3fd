"""How long onnxruntime takes for an answer, against torch, both from bytes to probabilities."""

import tempfile
from pathlib import Path

import torch

from benchmarks.harness import Row, compare
from fer_lightning.commands.checkpoints import Checkpoint
from fer_lightning.commands.export import WithPixels, samples, to_onnx
from fer_lightning.models import build

MODELS = ("cnn", "vit")
PASSES = 20  # in one turn


def measure() -> list[Row]:
    rows = []
    for name in MODELS:
        torch.manual_seed(0)
        net = build(name).eval()
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = Checkpoint(name, Path(name), net, [str(i) for i in range(7)], {})
            run, _ = to_onnx(checkpoint, Path(folder, "net.onnx"))
            image, module = samples(net, 1), WithPixels(net)

            def theirs(module: WithPixels = module, image: torch.Tensor = image) -> None:
                with torch.inference_mode():
                    for _ in range(PASSES):
                        module(image)

            def ours(run=run, image: torch.Tensor = image) -> None:
                for _ in range(PASSES):
                    run(image)

            what = f"{PASSES} answers of `{name}` about one face by onnxruntime, against torch"
            rows.append(compare(what, ours, theirs, target=1.0))
    return rows
