"""Terms that are added to the cross-entropy, and weights of its images; all are off by default."""

from fer_lightning.training.losses.adaptive_weighting import AdaptiveWeighting
from fer_lightning.training.losses.attention_regulariser import AttentionRegulariser
from fer_lightning.training.losses.objective import Objective, Weighed

__all__ = ["AdaptiveWeighting", "AttentionRegulariser", "Objective", "Weighed"]
