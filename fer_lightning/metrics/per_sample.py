"""The part all focus metrics share: one value per image, kept, gathered over processes, sorted."""

import torch
from torch import Tensor
from torchmetrics import Metric

from fer_lightning.errors import UserError
from fer_lightning.metrics.summary import summarise

NO_ID = -1
LARGEST_ID = 2**53  # whole numbers up to here are exact in float64


class PerSampleMetric(Metric):
    """Keep per-image values and describe them; a subclass's `update` calls `add`.

    `compute` returns what `summary` makes of the values, and two more tensors: `values`, (N,) or
    (N, R), and `ids`, (N,). With ids, the images come back sorted by id and an image that a
    sampler repeated to fill up a batch counts once, so one process and many give the same result.
    Without ids (all -1) the order is that of the updates, process by process. As with every
    torchmetrics metric, a tensor of one element comes back without its axes.
    """

    is_differentiable = False
    higher_is_better: bool | None = None
    full_state_update = False
    flat_values: list[Tensor]
    flat_ids: list[Tensor]
    regions: Tensor

    def __init__(self) -> None:
        super().__init__()
        # A process that saw no image takes part in gathering with an empty one-dimensional tensor
        # of the metric's type; states of any other shape or type would not fit to it.
        self.set_dtype(torch.float64)
        self.add_state("flat_values", default=[], dist_reduce_fx="cat")
        self.add_state("flat_ids", default=[], dist_reduce_fx="cat")
        # Number of regions, 0 for values without a region axis.
        self.add_state("regions", default=torch.tensor(0), dist_reduce_fx="max")
        # MetricCollection takes metrics whose states are equal after the first batch for the same
        # and then updates only one of them. NaN equals nothing, so it keeps ours apart.
        self.add_state("apart", default=torch.tensor(torch.nan), dist_reduce_fx="max")

    def add(self, values: Tensor, ids: Tensor | None = None) -> None:
        """Keep the values of one batch.

        Args:
            values: (B,) or (B, R), NaN for a zero map.
            ids: (B,) whole numbers that name the images, such as their place in the data set.

        Raises:
            UserError: Another number of regions than before, or ids that do not fit.
        """
        regions = values.shape[1] if values.ndim == 2 else 0
        if self.flat_values and regions != self.regions:
            raise UserError(
                f"expected {self.regions.item()} regions as in the updates before (0: one mask "
                f"without a region axis), but got {regions}: use one metric per set of masks."
            )
        self.regions = torch.tensor(regions, device=self.device)
        if ids is None:
            ids = torch.full((len(values),), NO_ID)
        elif ids.shape != values.shape[:1] or ids.is_floating_point() or not _fit(ids):
            raise UserError(
                f"expected {len(values)} whole-number ids from 0 to 2**53, but got {ids.dtype} of "
                f"shape {tuple(ids.shape)}: pass the images' places in the data set."
            )
        # Apple's GPUs have no float64.
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        self.flat_values.append(values.flatten().to(self.device, dtype))
        self.flat_ids.append(ids.to(self.device, dtype))

    def summary(self, values: Tensor) -> dict[str, Tensor]:
        """Describe all values, (N,) or (N, R); overridden where more is worth saying."""
        return summarise(values)

    def compute(self) -> dict[str, Tensor]:
        """Return the summary, and `values` and `ids` of every image."""
        values, ids = _joined(self.flat_values), _joined(self.flat_ids).long()
        if len(ids) == 0:
            raise UserError("expected at least one map, but got none: call update before compute.")
        regions = int(self.regions)
        if len(values) != len(ids) * max(regions, 1):
            raise UserError(
                f"expected {regions} regions in every update and process, but got fewer in some: "
                "use one metric per set of masks."
            )
        if regions > 0:
            values = values.reshape(len(ids), regions)
        if (ids != NO_ID).all():
            order = ids.argsort(stable=True)
            first = torch.ones_like(ids, dtype=torch.bool)
            first[1:] = ids[order][1:] != ids[order][:-1]
            values, ids = values[order][first], ids[order][first]
        return self.summary(values) | {"values": values, "ids": ids}


def _fit(ids: Tensor) -> bool:
    """Tell whether ids can be kept as float64."""
    return bool(ids.min() >= 0 and ids.max() <= LARGEST_ID)


def _joined(state: list[Tensor] | Tensor) -> Tensor:
    """Join a list state, which is one tensor already after it has been gathered."""
    if isinstance(state, Tensor):
        return state
    return torch.cat(state) if state else torch.empty(0)
