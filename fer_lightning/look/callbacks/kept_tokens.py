"""Pictures of the patches that a model keeps: the same faces in every epoch."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.look.callbacks.grad_cam import first_of_each_class, shown
from fer_lightning.look.callbacks.look import Look, LookContext
from fer_lightning.look.frozen import frozen_eval, plain
from fer_lightning.models import name_of
from fer_lightning.plots.galleries import kept_tokens_figure
from fer_lightning.training.callbacks.pooling_schedule import PoolingSchedule


class KeptTokensCallback(Look):
    """Which patches are left after each stage, of one picture per class and on average.

    A model that drops nothing is left out with a note.
    """

    def look(self, context: LookContext) -> None:
        """Draw one picture per class, and how often each place is kept among all probe images."""
        probe = context.probe(self.samples, self.seed)
        few = first_of_each_class(probe, 1)
        shown_masks, all_masks = (kept(context.net, x) for x in (few.images, probe.images))
        if not shown_masks:
            if context.stage == "val" and any(
                isinstance(callback, PoolingSchedule)
                for callback in context.trainer.callbacks  # type: ignore[attr-defined]
            ):
                return  # pooling sets in later
            raise UserError(
                f"expected a model that drops patches but got {name_of(context.net)}, which "
                "keeps all; lower keep_patches or keep_rate"
            )
        figure = kept_tokens_figure(
            shown(few.faces),
            shown_masks,
            [context.classes[label] for label in few.labels.tolist()],
            context.title("Patches kept"),
            all_masks,
        )
        context.save(figure, "kept_tokens")


def kept(model: nn.Module, images: Tensor, batch_size: int = 32) -> dict[str, NDArray[np.bool_]]:
    """Return which patches a model keeps after each stage, (N, h, w), by the stage's name.

    >>> from fer_lightning.models import ViT
    >>> masks = kept(ViT(keep_patches=10), torch.rand(2, 1, 48, 48))
    >>> {stage: (mask.shape, int(mask.sum())) for stage, mask in masks.items()}
    {'patch pooling': ((2, 8, 8), 20)}
    """
    with frozen_eval(model) as net:
        parts = [net.kept_masks(plain(part)) for part in images.split(batch_size)]
    return {stage: torch.cat([p[stage] for p in parts]).cpu().numpy() for stage in parts[0]}
