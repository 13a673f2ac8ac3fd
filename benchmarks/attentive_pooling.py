"""APViT(k, r) against itself with nothing dropped: does pooling save time?

python -m benchmarks.attentive_pooling                    (apvit at 48x48, batch 64)
python -m benchmarks.attentive_pooling --model apvit_112  (the source's sizes; minutes on a CPU)

Prints a Markdown table: patches left after the last layer, multiply-adds of what is computed, their
share of the baseline's, the share of time of an inference, the difference of both in points (the
aim: within 10), and the share of time of a training step (forward, backward, Adam). Each is timed
in turn with the baseline's.
"""

import argparse
import platform
from collections.abc import Callable

import torch

from benchmarks.harness import compare
from fer_lightning.models import build
from fer_lightning.models.cost import count_multiply_adds, count_parameters
from fer_lightning.models.layers.patch_transformer import PatchTransformer
from fer_lightning.models.layers.pooling import AttentivePooling

# (keep_patches, keep_rate): the source's pairs, and as large shares of 144 places
GRID = {
    "apvit": ((144, 0.9), (118, 1.0), (118, 0.9), (80, 0.8), (59, 0.6), (30, 0.6), (8, 0.6)),
    "apvit_112": ((196, 0.9), (160, 1.0), (160, 0.9), (120, 0.9), (80, 0.6), (40, 0.6), (10, 0.6)),
}
AIM = 0.10  # between share of time and share of arithmetic


def forward(
    model: PatchTransformer, pooling: AttentivePooling, images: torch.Tensor
) -> Callable[[], None]:
    """Return a run of one forward pass under such pooling."""

    @torch.inference_mode()
    def run() -> None:
        model.pooling = pooling
        model(images)

    return run


def training_step(
    model: PatchTransformer, pooling: AttentivePooling, images: torch.Tensor
) -> Callable[[], None]:
    """Return a run of one step of training under such pooling."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)

    def run() -> None:
        model.pooling = pooling
        optimizer.zero_grad()
        model(images).square().mean().backward()
        optimizer.step()

    return run


def main(name: str, batch: int, repeats: int) -> None:
    model = build(name).eval()
    assert isinstance(model, PatchTransformer)
    patches, depth = model.grid[0] * model.grid[1], len(model.blocks)
    chans, size = (model.init_args[key] for key in ("in_chans", "image_size"))
    images = torch.rand(batch, chans, size, size)
    everything = AttentivePooling()
    model.pooling = everything
    whole, parameters = count_multiply_adds(model), count_parameters(model)
    print(
        f"{name}, {parameters:,} parameters, batch {batch}, {platform.machine()} CPU, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}\n"
    )
    print("| k | r | patches left | M multiply-adds | share | ms | time share | apart | | step |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for k, r in GRID[name]:
        pooling = AttentivePooling(k, r)
        model.pooling = pooling
        assert count_parameters(model) == parameters
        cost, left = count_multiply_adds(model), pooling.patches_by_layer(patches, depth)[-1]
        row = compare(
            "",
            forward(model, pooling, images),
            forward(model, everything, images),
            cost / whole + AIM,
            repeats,
        )
        apart = row.ratio - cost / whole
        step = compare(
            "",
            training_step(model, pooling, images),
            training_step(model, everything, images),
            cost / whole + AIM,
            max(repeats // 3, 1),
        )
        print(
            f"| {k} | {r:g} | {left} of {patches} | {cost / 1e6:,.1f} | {cost / whole:.1%} "
            f"| {1000 * row.ours:.1f} | {row.ratio:.1%} | {100 * apart:+.1f} "
            f"| {'met' if abs(apart) <= AIM else 'MISSED'} | {step.ratio:.1%} |",
            flush=True,
        )
    print(f"\nnothing dropped: {whole / 1e6:,.1f} M multiply-adds, {1000 * row.baseline:.1f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=GRID, default="apvit")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--repeats", type=int)
    args = parser.parse_args()
    main(args.model, args.batch, args.repeats or (15 if args.model == "apvit" else 3))
