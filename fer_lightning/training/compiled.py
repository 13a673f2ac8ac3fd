"""Whether ``torch.compile`` pays within a run: a few steps of the model with and without it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fer_lightning.models.base import VisionModel, in_eval_mode

STEPS = 3  # that are timed; the fastest counts
SHORT = 60.0  # seconds: what takes no longer uncompiled is not worth a try


@dataclass(frozen=True)
class Trial:
    """What was measured, in seconds.

    >>> Trial(steps=1000, plain=0.2, compiled=0.1, compiling=50).sentence
    'Compiled: yes, a step takes 0.50 of the time, and compiling 50 s (1,000 steps)'
    >>> Trial(steps=100, plain=0.2, compiled=0.1, compiling=50).pays
    False
    """

    steps: int  # of the run
    plain: float  # a step
    compiled: float | None = None  # a step, or None if it was not tried or failed
    compiling: float = 0.0
    problem: str = "the run is too short for it"

    @property
    def pays(self) -> bool:
        """Whether the run ends earlier, with the time for compiling counted."""
        if self.compiled is None:
            return False
        return self.compiling + self.steps * self.compiled < self.steps * self.plain

    @property
    def sentence(self) -> str:
        """Say in one line what was chosen."""
        if self.compiled is None:
            return f"Compiled: no, {self.problem}"
        return (
            f"Compiled: {'yes' if self.pays else 'no'}, a step takes "
            f"{self.compiled / self.plain:.2f} of the time, and compiling {self.compiling:.0f} s "
            f"({self.steps:,} steps)"
        )


def batch_sizes(images: int, batch: int) -> list[int]:
    """Return the sizes of batches that occur, the usual one first.

    >>> batch_sizes(130, 64), batch_sizes(128, 64), batch_sizes(20, 64)
    ([64, 2], [64], [20])
    """
    sizes = [min(images, batch), images % batch]
    return sizes if sizes[0] > sizes[1] > 0 else sizes[:1]


def try_compiled(
    net: VisionModel,
    batches: Sequence[int],
    eval_batches: Sequence[int],
    steps: int,
    device: torch.device | None = None,
    context: Callable[[], AbstractContextManager[object]] = nullcontext,
    short: float = SHORT,
    backend: str = "inductor",
) -> Trial:
    """Time training steps of a model, and leave it compiled if that pays.

    Weights, statistics and random state are left as they were. What is compiled here is used in
    the run: nothing is compiled twice.

    Args:
        net: the model, not compiled, in the mode that it is trained in.
        batches: sizes of the training batches, the usual one first.
        eval_batches: sizes of the validation batches.
        steps: of the whole run.
        device: where it is trained.
        context: what each forward pass runs in, such as a precision plugin's.
        short: seconds; a run that takes no longer is not compiled.
        backend: of ``torch.compile``.
    """
    with left_as_found(net):
        images = [torch.rand(net.input_shape(size), device=device) for size in batches]
        unseen = [torch.rand(net.input_shape(size), device=device) for size in eval_batches]
        net.to(device)
        plain = _fastest(net, images[0], context)
        if plain * steps <= short:
            return Trial(steps, plain)
        net.compile(backend=backend)
        try:
            began = time.perf_counter()
            for batch in images:
                _step(net, batch, context)
            with in_eval_mode(net), torch.no_grad(), context():
                for batch in unseen:
                    net(batch)
            compiling = time.perf_counter() - began
            trial = Trial(steps, plain, _fastest(net, images[0], context), compiling)
        except Exception as error:  # whatever is missing here: a compiler, a kernel
            trial = Trial(steps, plain, problem=f"it fails here ({type(error).__name__})")
        if not trial.pays:
            undo(net)
        return trial


def undo(net: nn.Module) -> None:
    """Run a model that was compiled in place as it is written."""
    net._compiled_call_impl = None


@contextmanager
def left_as_found(net: nn.Module) -> Iterator[None]:
    """Put back the modes, buffers and gradients of a model and the state of random numbers."""
    buffers = [(buffer, buffer.clone()) for buffer in net.buffers()]
    modes = [(module, module.training) for module in net.modules()]
    with torch.random.fork_rng():
        try:
            yield
        finally:
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)
            for weight in net.parameters():
                weight.grad = None
            for module, mode in modes:
                module.training = mode


def _fastest(
    net: nn.Module, images: Tensor, context: Callable[[], AbstractContextManager[object]]
) -> float:
    _step(net, images, context)
    times = []
    for _ in range(STEPS):
        began = time.perf_counter()
        _step(net, images, context)
        times.append(time.perf_counter() - began)
    return min(times)


def _step(
    net: nn.Module, images: Tensor, context: Callable[[], AbstractContextManager[object]]
) -> None:
    """Go forward and back; a GPU works on after the calls have returned, so wait for it."""
    with context():
        loss = net(images).square().mean()
    loss.backward()
    if images.device.type == "cuda":
        torch.cuda.synchronize(images.device)
