"""What a focus number is worth: null maps, matched grids, other masks, randomisation, occlusion."""

from fer_lightning.controls.measure import measure, summarise_regions
from fer_lightning.controls.null_maps import null_maps
from fer_lightning.controls.occlusion import Occlusion, occlusion
from fer_lightning.controls.randomisation import randomisation
from fer_lightning.controls.table import Source, focus_table, map_sources, tabulate
from fer_lightning.controls.twins import untrained_twin

__all__ = [
    "Occlusion",
    "Source",
    "focus_table",
    "map_sources",
    "measure",
    "null_maps",
    "occlusion",
    "randomisation",
    "summarise_regions",
    "tabulate",
    "untrained_twin",
]
