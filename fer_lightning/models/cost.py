"""What a model costs: parameters, arithmetic, seconds for an answer, memory."""

import resource
import statistics
import sys
import time
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from fer_lightning.models.base import VisionModel, in_eval_mode

BATCHES = (1, 64)
WARM_UP, LEAST, MOST = 2, 5, 50  # passes: thrown away, and counted
SECONDS = 0.5  # after which no further pass is counted


def count_parameters(model: nn.Module, trainable: bool = False) -> int:
    """Return the number of parameters, or of those that training changes.

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trainable)


def count_flops(model: VisionModel, batch: int = 1, complete: bool = False) -> int:
    """Return the floating-point operations of a forward pass, two per multiply-add.

    Matrix products and convolutions count, attention's own included; norms, activations and
    additions do not. Only what is computed counts: `ViT` with [CLS] leaves the last layer's
    patches out. Papers that say FLOPs often mean multiply-adds: see `count_multiply_adds`.

    Args:
        model: built for images of `init_args`; on the meta device nothing is computed.
        batch: number of images.
        complete: count every token of every layer, as papers do, by what `attend` computes.

    >>> from fer_lightning.models import CNN
    >>> count_flops(CNN())
    147605248
    """
    device = next(model.parameters()).device
    with (
        in_eval_mode(model),
        torch.inference_mode(False),
        torch.enable_grad(),  # the counter cannot follow all modules without
        sdpa_kernel(SDPBackend.MATH),  # the fused kernels would count as nothing
        FlopCounterMode(display=False) as counter,
    ):
        images = torch.zeros(model.input_shape(batch), device=device)
        model.attend(images) if complete else model.forward(images)
    return counter.get_total_flops()


def count_multiply_adds(model: VisionModel, batch: int = 1, complete: bool = False) -> int:
    """Return the multiply-adds of a forward pass: half of `count_flops`."""
    return count_flops(model, batch, complete) // 2


def measure_cost(model: VisionModel) -> dict[str, Any]:
    """Return what a run's summary says of speed and memory, on the device the model is on.

    >>> from fer_lightning.models import CNN
    >>> sorted(measure_cost(CNN(image_size=16, widths=(4, 4, 4, 4))))
    ['device', 'latency_ms_1', 'latency_ms_64', 'latency_passes', 'peak_memory_bytes', 'threads']
    """
    device = next(model.parameters()).device
    passes = {batch: latencies(model, batch) for batch in BATCHES}
    return {
        "device": device.type,
        "threads": torch.get_num_threads(),
        "latency_passes": {str(batch): len(times) for batch, times in passes.items()},
        "peak_memory_bytes": peak_memory(device),
        **{
            f"latency_ms_{batch}": round(1000 * statistics.median(times), 4)
            for batch, times in passes.items()
        },
    }


def latencies(model: VisionModel, batch: int) -> list[float]:
    """Return the seconds of some forward passes; the model's mode is left as it was."""
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(model.input_shape(batch), generator=generator).to(device)
    times: list[float] = []
    with in_eval_mode(model), torch.inference_mode():
        for _ in range(WARM_UP):
            _seconds(model, images)
        while len(times) < LEAST or (len(times) < MOST and sum(times) < SECONDS):
            times.append(_seconds(model, images))
    return times


def _seconds(model: VisionModel, images: torch.Tensor) -> float:
    """Time one pass; a GPU works on after the call has returned, so wait for it."""
    began = time.perf_counter()
    model.forward(images)
    if images.device.type == "cuda":
        torch.cuda.synchronize(images.device)
    return time.perf_counter() - began


def peak_memory(device: torch.device) -> int:
    """Return the most bytes held so far: tensors on a GPU, the whole process on a CPU.

    On the CPU this counts the data set and all libraries too, so only large differences tell
    models apart.
    """
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else 1024 * highest  # Linux counts in kB
