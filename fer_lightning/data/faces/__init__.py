"""Drawn faces: the embedded data set, seven expressions built from action units."""

from fer_lightning.data.faces.dataset import drawn_faces

__all__ = ["drawn_faces"]
