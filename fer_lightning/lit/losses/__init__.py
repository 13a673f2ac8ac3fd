"""Terms that are added to the cross-entropy, and weights of its images; all are off by default."""

from fer_lightning.lit.losses.attention_regulariser import AttentionRegulariser

__all__ = ["AttentionRegulariser"]
