"""What share of the machine's arithmetic a training step uses: forward, backward and Adam.

A step needs three times the arithmetic of a forward pass (each product has two gradients), two
operations per multiply-add. The limit is the fastest of some matrix products and convolutions of
the sizes that occur here, before and after each model in the same run; of the steps, too, the
fastest counts. On processors of AMD with AVX-512 convolutions are more than twice as fast as
products, which use half of the width: the share of the products' limit stands beside.
"""

import time
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F

from benchmarks.harness import Row
from fer_lightning.models import build
from fer_lightning.models.cost import count_multiply_adds
from fer_lightning.training.optimizers import make_optimizer

BATCH = 64
SHARES = {"cnn": 0.85, "vit": 0.75, "hybrid_vit": 0.75, "swin": 0.6, "flagship": 0.6}  # aims
WARM_UP, STEPS = 3, 12
SQUARES = (1024, 2048)
LAYERS = ((BATCH * 65, 128, 512), (BATCH * 65, 512, 128))  # rows, width before and after
CONVOLUTIONS = ((32, 48, 3), (64, 24, 5), (112, 6, 3))  # channels, side, kernel


def times(run: Callable[[], object], warm_up: int, repeats: int) -> list[float]:
    """Return the seconds of each call but the first ones."""
    for _ in range(warm_up):
        run()
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return taken


Work = Iterator[tuple[int, Callable[[], object]]]  # operations and a call that makes them


def products() -> Work:
    for n, before, after in (*((side,) * 3 for side in SQUARES), *LAYERS):
        a, b = torch.rand(n, before), torch.rand(before, after)
        yield 2 * n * before * after, lambda a=a, b=b: a @ b


def convolutions() -> Work:
    for chans, side, kernel in CONVOLUTIONS:
        x = torch.rand(BATCH, chans, side, side).to(memory_format=torch.channels_last)
        w = torch.rand(chans, chans, kernel, kernel).to(memory_format=torch.channels_last)
        operations = 2 * BATCH * side**2 * chans**2 * kernel**2
        yield operations, lambda x=x, w=w, pad=kernel // 2: F.conv2d(x, w, padding=pad)


@torch.no_grad()
def limit() -> tuple[float, float]:
    """Return the most operations per second that were seen, of products and of convolutions."""
    product, convolution = (
        max(operations / min(times(run, 2, 10)) for operations, run in work())
        for work in (products, convolutions)
    )
    return product, convolution


def step(name: str) -> tuple[int, Callable[[], object]]:
    """Return the multiply-adds of an image and a training step of a batch."""
    torch.manual_seed(0)
    net = build(name).train()
    optimizer = make_optimizer(net, "adam")
    images, labels = torch.rand(net.input_shape(BATCH)), torch.randint(7, (BATCH,))

    def run() -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()
        optimizer.step()

    return count_multiply_adds(net), run


def measure() -> list[Row]:
    rows, before = [], limit()
    for name, share in SHARES.items():
        multiply_adds, run = step(name)
        ours = min(times(run, WARM_UP, STEPS))
        after = limit()
        product, convolution = (max(pair) for pair in zip(before, after, strict=True))
        before, most = after, max(product, convolution)
        operations = 6 * multiply_adds * BATCH
        ideal = operations / most
        text = (
            f"{name}: a step of {BATCH}, {BATCH / ours:.0f} images/s, {ideal / ours:.2f} of "
            f"{most / 1e9:.0f} GFLOP/s ({share} wanted), {operations / product / ours:.2f} of the "
            f"{product / 1e9:.0f} of matrix products alone, {torch.get_num_threads()} threads"
        )
        rows.append(Row(text, ours, ideal, ours / ideal, 1 / share))
    return rows
