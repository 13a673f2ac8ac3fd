"""Drawn defects: the second embedded data set, six flaws on textured plates with a stamp."""

from fer_lightning.data.defects.dataset import drawn_defects, write_defects

__all__ = ["drawn_defects", "write_defects"]
