"""Pictures of a transformer's attention: heads, rollout, similarity of positions."""

from fer_lightning.look.callbacks.grad_cam import first_of_each_class, shown
from fer_lightning.look.callbacks.look import Look, Scene
from fer_lightning.look.methods.attention import (
    attention_rollout,
    cls_attention,
    position_similarity,
)
from fer_lightning.plots.attention import attention_figure, position_figure


class AttentionCallback(Look):
    """[CLS] attention of the last layer's heads, attention rollout, and position similarity.

    A model without attention over the whole image (a CNN, Swin) is left out with a note.
    """

    def look(self, scene: Scene) -> None:
        """Draw one face a class, and all learned positions."""
        probe = first_of_each_class(scene.probe(self.samples, self.seed), 1)
        net = scene.module.net
        figure = attention_figure(
            shown(probe.faces),
            cls_attention(net, probe.images).cpu().numpy(),
            attention_rollout(net, probe.images).cpu().numpy(),
            [scene.data.classes[label] for label in probe.labels.tolist()],
            scene.title("[CLS] attention, last layer"),
        )
        scene.save(figure, "attention")
        similarity = position_similarity(net).cpu().numpy()
        h, w = similarity.shape[:2]
        figure = position_figure(
            similarity.reshape(h * w, h * w), (h, w), scene.title("Similarity of positions")
        )
        scene.save(figure, "positions")
