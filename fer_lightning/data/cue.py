"""A pattern planted in pictures at a known place, so that where a model must look is known.

A trained model of real faces has no known truth: nobody can say where it should look. With a
pattern around the heads that names the class, the right answer is known, and a map or a metric
that does not see it cannot be believed.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.landmarks import Landmarks
from fer_lightning.data.masks import masks_for, regions_of
from fer_lightning.errors import UserError, nearest

# Per class: directions of the waves in degrees, and their period in pixels of a 48x48 image. All
# are told apart after a flip, a shift or a turn by 15°: augmentation does not hide the cue.
WAVES: tuple[tuple[tuple[int, ...], float], ...] = (
    ((0,), 4.0),
    ((90,), 4.0),
    ((0, 90), 4.0),
    ((0,), 9.0),
    ((90,), 9.0),
    ((0, 90), 9.0),
    ((45, 135), 6.0),
    ((45, 135), 4.0),
    ((45, 135), 9.0),
    ((0,), 6.0),
    ((90,), 6.0),
    ((0, 90), 6.0),
)
STRENGTH = 35.0  # grey levels from middle to crest
BACKGROUND = "background"
AT_ONCE = 2048  # images whose masks are held at once


@dataclass(frozen=True)
class Cue:
    """A woven pattern that names the class.

    Args:
        place: ``background``, or a region of the data set; none plants nothing.
        strength: with this probability the pattern is that of the label, otherwise that of a class
            drawn at random: at 0 it tells nothing, at 1 everything.
        labels: ``shuffled`` deals the labels out anew, so that nothing but the pattern tells them.
        seed: of the patterns and of the shuffle.
    """

    place: str | None = None
    strength: float = 1.0
    labels: Literal["kept", "shuffled"] = "kept"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise UserError(
                f"expected the cue's strength between 0 and 1 but got {self.strength}; it is the "
                "probability that the pattern names the label"
            )


def plant(data: ImageSet, cue: Cue, landmarks: Landmarks | None = None) -> ImageSet:
    """Plant a cue in every picture of a data set.

    Args:
        data: a data set with regions.
        cue: what is planted where; without a place the data stay as they are.
        landmarks: outlines of single faces, as for `masks_for`.

    Returns:
        The data set with other pictures (and labels, if shuffled); `before_cue` holds what it was,
        by which landmarks, copies and the split are known.

    Raises:
        UserError: no such region, no background, or more classes than there are patterns.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> faces = drawn_faces(14)
    >>> planted = plant(faces, Cue("background"))
    >>> changed = (planted.images != faces.images)[:, 0]
    >>> face = faces.masks[:, faces.mask_regions.index("face")]
    >>> changed.any((1, 2)).all().item(), (changed & face).any().item()
    (True, False)
    """
    if cue.place is None:
        return data
    _check(data, cue.place)
    rng = np.random.default_rng([cue.seed, 2013])
    N, K = len(data), len(data.classes)
    labels = data.labels[rng.permutation(N)] if cue.labels == "shuffled" else data.labels
    agrees, other, phases = rng.random(N), rng.integers(0, K, N), rng.random(N)
    named = np.where(agrees < cue.strength, labels, other)
    images = np.empty(data.images.shape, np.uint8)
    for rows in np.split(np.arange(N), range(AT_ONCE, N, AT_ONCE)):
        places = place_of(data, rows, cue.place, landmarks)
        patterns = woven(places.shape[1:], named[rows], phases[rows])
        images[rows] = _with_patterns(data.images[rows], places, patterns)
    words = f"{cue.place} cue of strength {cue.strength:g}"
    return replace(
        data,
        name=f"{data.name} ({words}{', labels shuffled' if cue.labels == 'shuffled' else ''})",
        images=images,
        labels=labels,
        soft=None,
        before_cue=data,
        notes=data.notes | {"cue": f"a pattern was planted in every picture: {words}"},
        known_fingerprint=None,
    )


def place_of(
    data: ImageSet, rows: NDArray[np.int64], place: str, landmarks: Landmarks | None = None
) -> NDArray[np.bool_]:
    """Return the pixels, (B, H, W), on which a cue lies."""
    regions = regions_of(data)
    masks = masks_for(data, rows, landmarks=landmarks)
    if place != BACKGROUND:
        return masks[:, regions.order.index(place)]
    return ~masks[:, regions.order.index(str(regions.outside))]


def _check(data: ImageSet, place: str) -> None:
    regions = regions_of(data)
    known = [*regions.order, *([BACKGROUND] if regions.outside else [])]
    if place not in known:
        raise UserError(
            f"expected the cue's place to be a region of {data.name} but got '{place}'; "
            f"{nearest(place, known)}"
        )
    if len(data.classes) > len(WAVES):
        raise UserError(
            f"expected at most {len(WAVES)} classes for a cue but {data.name} has "
            f"{len(data.classes)}; there are no more patterns that an augmentation leaves apart"
        )


def _with_patterns(
    pictures: NDArray[np.uint8], places: NDArray[np.bool_], patterns: NDArray[np.float64]
) -> NDArray[np.uint8]:
    """Return pictures (B, C, H, W) with patterns (B, H, W) on places (B, H, W)."""
    # pulled towards middle grey, for black or white would cut the waves off
    changed = np.clip(np.rint(0.75 * pictures + 32 + patterns[:, None]), 0, 255)
    return np.where(places[:, None], changed.astype(np.uint8), pictures)


def woven(
    size: tuple[int, ...], kinds: NDArray[np.int64], phases: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the patterns of classes, (B, H, W) grey levels around 0.

    Args:
        size: height and width in pixels.
        kinds: (B,) the classes.
        phases: (B,) where the waves start, in periods.

    >>> woven((48, 48), np.array([0]), np.array([0.25]))[0, :2, :4].round().tolist()
    [[35.0, 0.0, -35.0, -0.0], [35.0, 0.0, -35.0, -0.0]]
    """
    y, x = np.mgrid[: size[0], : size[1]] * (48 / size[0])
    found = np.empty((len(kinds), *size))
    for kind in np.unique(kinds):
        here = kinds == kind
        angles, period = WAVES[kind]
        waves = [
            np.sin(
                2 * np.pi * ((np.cos(a) * x + np.sin(a) * y) / period + phases[here, None, None])
            )
            for a in np.radians(angles)
        ]
        found[here] = np.sum(waves, axis=0) * (STRENGTH / len(waves) ** 0.5)
    return found
