"""How a model's features group the classes: t-SNE and numbers that do not depend on it."""

import numpy as np
import torch

from fer_lightning import keys
from fer_lightning.errors import UserError
from fer_lightning.look.callbacks.look import Look, LookContext
from fer_lightning.look.embedding import embedding_quality, tsne
from fer_lightning.look.frozen import BATCH, frozen_eval
from fer_lightning.plots.tsne import tsne_figure
from fer_lightning.runs.files import FILES


class TooFewError(UserError):
    """There are no more images than the perplexity."""


class EmbeddingCallback(Look):
    """t-SNE of the penultimate features, with kNN accuracy and silhouette in feature space too.

    Args:
        every_n_epochs: look after each n-th epoch of training; t-SNE takes some seconds.
        samples: number of images.
        seed: chooses the images.
        perplexity: of t-SNE.
        tsne_seed: of t-SNE.
    """

    def __init__(
        self,
        every_n_epochs: int = 5,
        samples: int = 1000,
        seed: int = 0,
        perplexity: float = 30.0,
        tsne_seed: int = 42,
    ) -> None:
        super().__init__(every_n_epochs, samples, seed)
        self.perplexity, self.tsne_seed = perplexity, tsne_seed

    def why_not(self, error: UserError) -> str:
        """Say what is left out where there are too few images for it."""
        return str(error) if isinstance(error, TooFewError) else super().why_not(error)

    def look(self, context: LookContext) -> None:
        """Project, measure, draw; keep features and faces of the test images, for a report."""
        probe = context.probe(self.samples, self.seed)
        if len(probe.rows) <= self.perplexity:
            raise TooFewError(
                f"t-SNE is left out: {len(probe.rows)} images are too few "
                f"(more than {self.perplexity:g} needed)"
            )
        with frozen_eval(context.net) as net, torch.no_grad():
            features = torch.cat([net.features(x) for x in probe.images.split(BATCH)])
        features = features.float().cpu()
        points = tsne(features, perplexity=self.perplexity, seed=self.tsne_seed)
        quality = embedding_quality(features, probe.labels, points)
        context.log({(keys.EMBEDDING, name): value for name, value in quality.items()})
        labels, title = probe.labels.numpy(), context.title("t-SNE")
        context.save(tsne_figure(points.numpy(), labels, context.classes, quality, title), "tsne")
        context.show_features(features, probe)
        if context.stage == "test":
            with context.writing(context.folder / FILES["features"].name, "wb") as file:
                np.savez_compressed(
                    file,
                    row=probe.rows,
                    label=labels,
                    features=features.numpy(),
                    points=points,
                    faces=probe.faces,
                )
