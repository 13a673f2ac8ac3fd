"""A training step of our ViTs against the same ViTs made of nn.TransformerEncoderLayer."""

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.harness import Row, compare
from fer_lightning.models import ViT, ViTTiny

BATCH = 64


class TorchViT(nn.Module):
    """Patches by a convolution, torch's own pre-norm layers, [CLS], final norm, head."""

    def __init__(
        self, dropout: float, chans: int = 1, patch: int = 6, depth: int = 4, classes: int = 7
    ) -> None:
        super().__init__()
        self.embed = nn.Conv2d(chans, 128, patch, patch)  # 8x8 patches
        self.cls = nn.Parameter(torch.zeros(1, 1, 128))
        self.positions = nn.Parameter(torch.randn(1, 65, 128) * 0.02)
        layer = nn.TransformerEncoderLayer(
            128, 4, 512, dropout, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, classes)

    def forward(self, x):
        tokens = self.embed(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls.expand(len(x), -1, -1), tokens], 1) + self.positions
        return self.head(self.norm(self.layers(tokens)[:, 0]))


def step(model, chans=1, size=48):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    images, labels = torch.rand(BATCH, chans, size, size), torch.randint(7, (BATCH,))

    def run():
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    return run


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def measure() -> list[Row]:
    ours, tiny, theirs = ViT(), ViTTiny(), TorchViT(0.0, chans=3, patch=4, depth=6, classes=10)
    assert parameters(ours) == parameters(TorchViT(0.0)) == 807_431
    assert parameters(tiny) == parameters(theirs) == 1_205_898
    rows = [
        compare(f"ViT step, {text}", step(ours), step(TorchViT(rate)), target, 15, 3)
        for text, rate, target in (
            ("theirs with its default dropout 0.1", 0.1, 0.75),
            ("dropout 0 in both", 0.0, 0.95),
        )
    ]
    one, other = step(tiny, 3, 32), step(theirs, 3, 32)
    return [*rows, compare("vit_tiny step, 32x32x3, dropout 0 in both", one, other, 0.95, 15, 3)]
