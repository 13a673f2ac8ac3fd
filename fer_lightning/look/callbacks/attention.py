"""Pictures of a transformer's attention: heads, rollout, similarity of positions."""

from fer_lightning.look.callbacks.grad_cam import first_of_each_class, shown
from fer_lightning.look.callbacks.look import Look, LookContext
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

    def look(self, context: LookContext) -> None:
        """Draw one picture per class, and all learned positions."""
        probe = first_of_each_class(context.probe(self.samples, self.seed), 1)
        net = context.net
        figure = attention_figure(
            shown(probe.faces),
            cls_attention(net, probe.images).cpu().numpy(),
            attention_rollout(net, probe.images).cpu().numpy(),
            [context.classes[label] for label in probe.labels.tolist()],
            context.title("[CLS] attention, last layer"),
        )
        context.save(figure, "attention")
        similarity = position_similarity(net).cpu().numpy()
        h, w = similarity.shape[:2]
        figure = position_figure(
            similarity.reshape(h * w, h * w), (h, w), context.title("Similarity of positions")
        )
        context.save(figure, "positions")
