"""A training step of our ViT against the same ViT made of nn.TransformerEncoderLayer."""

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.harness import Row, compare
from fer_lightning.models import ViT

BATCH = 64


class TorchViT(nn.Module):
    """Patches by a convolution, torch's own pre-norm layers, [CLS], final norm, head."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Conv2d(1, 128, 6, 6)
        self.cls = nn.Parameter(torch.zeros(1, 1, 128))
        self.positions = nn.Parameter(torch.randn(1, 65, 128) * 0.02)
        layer = nn.TransformerEncoderLayer(
            128, 4, 512, dropout, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 7)

    def forward(self, x):
        tokens = self.embed(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls.expand(len(x), -1, -1), tokens], 1) + self.positions
        return self.head(self.norm(self.layers(tokens)[:, 0]))


def step(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    images, labels = torch.rand(BATCH, 1, 48, 48), torch.randint(7, (BATCH,))

    def run():
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    return run


def measure() -> list[Row]:
    ours = ViT()
    sizes = {sum(p.numel() for p in m.parameters()) for m in (ours, TorchViT(0.0))}
    assert sizes == {807_431}, sizes
    return [
        compare(f"ViT step, {text}", step(ours), step(TorchViT(rate)), target, 15, 3)
        for text, rate, target in (
            ("theirs with its default dropout 0.1", 0.1, 0.75),
            ("dropout 0 in both", 0.0, 0.95),
        )
    ]
