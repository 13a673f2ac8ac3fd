"""A training step with linear layers as convolutions, against the same as matrix products."""

from unittest.mock import patch

from benchmarks.harness import Row, compare
from benchmarks.share_of_limit import step
from fer_lightning.models.layers import linear

MODELS = ("vit", "hybrid_vit", "swin", "apvit")
STEPS = 3


def measure() -> list[Row]:
    return [_compare(name) for name in MODELS]


def _compare(name: str) -> Row:
    _, run = step(name)

    def steps(faster: bool) -> None:
        with patch.object(linear, "convolutions_are_faster", lambda: faster):
            for _ in range(STEPS):
                run()

    taken = "" if linear.convolutions_are_faster() else ", which is not taken here"
    return compare(
        f"{name}: {STEPS} steps with tokens' linear layers as convolutions{taken}",
        lambda: steps(True),
        lambda: steps(False),
        target=1.0,
        repeats=5,
    )
