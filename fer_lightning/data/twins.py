"""Pictures that are the same photograph: identical copies, and near-twins found by correlation.

FER-2013 holds many photographs more than once, cropped a pixel or two apart, scaled or encoded
again. Such a near-twin is no identical copy, but a test image whose near-twin was trained on is as
good as seen. All pairs are compared, in two steps:

1. A short description of each picture (its lowest frequencies) bounds the correlation of two
   pictures from above, at every second shift. Few pairs are not ruled out by it.
2. Those are compared exactly, pixel by pixel, at every shift, and those that are alike once more
   without light and shadow, which two faces may share.

Both steps add whole numbers only, so that every machine finds the same pairs.
"""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fer_lightning.errors import UserError

Rows = NDArray[np.int64]

SMALLEST, LARGEST = 24, 64  # pixels a side: below, shifts are large parts of a face; above, slow
# Few photographs correlate more unless they are the same; faces that do are lit alike.
ALIKE = 0.9
# Of what remains when each pixel loses the mean around it. Of pairs above `ALIKE`, the same
# photograph has 0.7 and more, another face that is lit alike 0.2 to 0.5, hardly any between.
ALIKE_IN_DETAIL = 0.6
SHIFT = 1 / 16  # of the side, 3 of 48 pixels: crops of one photograph lie no further apart
# Within a group every two images correlate at least so much: of three images A-B-C, A and C may
# differ more than neighbours do, but no chain leads from one face to another.
ALIKE_IN_GROUP = 0.8
FLAT = 4.0  # grey levels; a window that varies less correlates with anything
AROUND = 11  # pixels a side: details are what differs from the mean around
FREQUENCIES = 6  # of a description, each way: 35 numbers and the length of what they leave out
# Of the bound in step 1, which is one for the shifts that are tried only: a pixel beside them twins
# may correlate more.
BOUND = 0.94
# Of what is asked for, at every second shift: below this share of it, the shifts between are not
# tried. A pixel costs two crops of a sharp photograph up to a third of their correlation.
WORTH_A_LOOK = 0.55
BESIDE = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]
LOSS = 0.05  # what the best of the tried shifts may lack to the best of all, either way
SCALE = 4000  # descriptions are whole numbers up to this; 4000² is exact in single precision
QUERIES, WINDOWS = 256, 4096  # pictures and windows that are compared at once
PAIRS_AT_ONCE = 512  # compared pixel by pixel
# On average per image. FER-2013 has 0.1 twins and 3 candidates; digits and logos have hundreds,
# and are alike by nature.
MOST_TWINS, MOST_CANDIDATES = 2, 200
VERSION = 1  # raise it, and `runs.identity.RESULT_VERSION`, when other twins are found


class AlikeError(UserError):
    """So many pictures are alike that likeness tells nothing about where they come from."""


def duplicate_groups(images: NDArray[np.uint8]) -> Rows:
    """Give identical images, (N, ...) uint8, the same group id, (N,): the row of their first.

    So ``groups[i] == i`` holds exactly for the first image of each group.
    """
    first_row: dict[bytes, int] = {}
    groups = np.empty(len(images), np.int64)
    for row, image in enumerate(images):
        # 16 bytes: two different images share a digest with probability below 1e-28 for 1e5 images
        digest = blake2b(np.ascontiguousarray(image).data, digest_size=16).digest()
        groups[row] = first_row.setdefault(digest, row)
    return groups


@dataclass(frozen=True)
class Twins:
    """Which images of a data set show the same photograph.

    Args:
        copies: (N,) as `duplicate_groups` gives them.
        pairs: (M, 2) rows of near-twins, the lower first; of identical copies the first one's row.
        correlation: (M,) how alike each pair is, from `ALIKE` to 1.
        mirrored: (M,) whether one is the mirror image of the other.
        groups: (N,) like `copies`, with near-twins in the same group.
    """

    copies: Rows
    pairs: Rows
    correlation: NDArray[np.float32]
    mirrored: NDArray[np.bool_]
    groups: Rows

    def __len__(self) -> int:
        return len(self.copies)

    def seen(self, rows: Rows) -> NDArray[np.bool_]:
        """Tell which images, (N,), are among the rows or have an identical or near twin there."""
        given = np.zeros(len(self), np.bool_)
        given[self.copies[rows]] = True
        found = given.copy()
        for one, other in (self.pairs.T, self.pairs.T[::-1]):
            found[one[given[other]]] = True
        return found[self.copies]

    @cached_property
    def apart(self) -> int:
        """Near-twins that are in different groups, because their groups are not alike."""
        return int((self.groups[self.pairs[:, 0]] != self.groups[self.pairs[:, 1]]).sum())


def check_size(images: NDArray[np.uint8]) -> None:
    """Refuse pictures whose near-twins cannot be found.

    Raises:
        UserError: they are in colour, too small or too large.
    """
    if not can_search(images):
        channels, height, width = images.shape[1:]
        colour = "grey" if channels == 1 else "colour"
        raise UserError(
            f"expected grey pictures of {SMALLEST} to {LARGEST} pixels a side for duplicates: near "
            f"but got {colour} ones of {width}x{height}; use duplicates: group"
        )


def can_search(images: NDArray[np.uint8]) -> bool:
    """Tell whether near-twins of (N, C, H, W) pictures can be found."""
    sides = images.shape[2:]
    return images.shape[1] == 1 and min(sides) >= SMALLEST and max(sides) <= LARGEST


def find_twins(images: NDArray[np.uint8]) -> Twins:
    """Find identical copies and near-twins among all pairs of pictures.

    Two pictures are near-twins if the middle of one, all but a sixteenth of the side at each edge,
    correlates by at least `ALIKE` with an equally large window of the other or of its mirror
    image, and their details by at least `ALIKE_IN_DETAIL`. A flat picture is no near-twin of any.

    Groups are made from the most alike pair to the least: two groups become one if each image of
    one correlates by at least `ALIKE_IN_GROUP` with each of the other.

    Takes about a minute of one core for FER-2013, and four times as long for twice the pictures.

    Args:
        images: (N, 1, H, W), 24 to 64 pixels a side.

    Raises:
        UserError: pictures of another kind.
        AlikeError: there are more than two near-twins per picture.

    >>> rng = np.random.default_rng(0)
    >>> photo = rng.integers(0, 256, (13, 13)).repeat(4, 0).repeat(4, 1).astype(np.uint8)
    >>> other = rng.integers(0, 256, (48, 48), np.uint8)
    >>> crops = [photo[:48, :48], other, photo[2:50, 1:49], photo[:48, :48], photo[:48, 47::-1]]
    >>> found = find_twins(np.stack(crops)[:, None])
    >>> found.copies.tolist(), found.groups.tolist()
    ([0, 1, 2, 0, 4], [0, 1, 0, 0, 0])
    >>> found.pairs.tolist(), found.mirrored.tolist()
    ([[0, 2], [0, 4], [2, 4]], [False, True, True])
    """
    check_size(images)
    copies = duplicate_groups(images)
    first = np.flatnonzero(copies == np.arange(len(images)))
    unique = np.ascontiguousarray(images[first, 0])
    windows = Windows(unique)
    pairs, correlation, mirrored = _pairs(windows)
    groups = _groups(windows, pairs, correlation)
    return Twins(copies, first[pairs], correlation, mirrored, first[groups][_place(copies, first)])


def _place(copies: Rows, first: Rows) -> Rows:
    """Where the first of each image's copies stands among the first ones."""
    return np.searchsorted(first, copies)


def _shift(pictures: NDArray[Any]) -> int:
    return round(SHIFT * min(pictures.shape[1:]))


# --- Step 1: pairs whose correlation may be high


def _pairs(
    windows: "Windows",
) -> tuple[Rows, NDArray[np.float32], NDArray[np.bool_]]:
    """Return near-twins among different pictures: (M, 2) rows, correlations, mirrored."""
    pictures = windows.pictures
    described, middle = _descriptions(pictures)
    found: list[tuple[Rows, NDArray[np.float32], NDArray[np.bool_]]] = []
    twins = 0
    for start in range(0, len(pictures), QUERIES):
        pairs, mirrored = _candidates(described, middle, start)
        correlation = windows.correlations(pairs, mirrored, ALIKE)
        alike = np.flatnonzero(correlation >= ALIKE)
        alike = alike[_alike_in_detail(pictures, pairs[alike], mirrored[alike])]
        found.append((pairs[alike], correlation[alike], mirrored[alike]))
        twins += len(alike)
        if twins > MOST_TWINS * len(pictures):
            raise AlikeError(_too_alike(f"{twins:,} pairs among the first {start + QUERIES:,}"))
    if not found:
        return np.empty((0, 2), np.int64), np.empty(0, np.float32), np.empty(0, np.bool_)
    pairs, correlation, mirrored = (np.concatenate(parts) for parts in zip(*found, strict=True))
    # a symmetric picture is also its mirrored twin: the more alike of both stays
    order = np.lexsort((mirrored, -correlation, pairs[:, 1], pairs[:, 0]))
    _, first = np.unique(pairs[order], axis=0, return_index=True)
    kept = order[first]
    return pairs[kept], correlation[kept], mirrored[kept]


def _alike_in_detail(
    pictures: NDArray[np.uint8], pairs: Rows, mirrored: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which pairs, (M,), also show the same edges: two faces may just be lit alike."""
    rows, places = np.unique(pairs, return_inverse=True)
    sharp = Windows(details(pictures[rows]), 0)
    return sharp.correlations(places.reshape(-1, 2), mirrored) >= ALIKE_IN_DETAIL


def _descriptions(
    pictures: NDArray[np.uint8],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Describe pictures (N, H, W): windows at every second shift, (N, S, D), and middles, (N, D).

    The product of two descriptions, over the square of `SCALE`, is at least the correlation of the
    windows (but for rounding): it is the exact share of low frequencies and, by the inequality of
    Cauchy and Schwarz, the largest share that the others could have.
    """
    most = _shift(pictures)
    steps = range(-most + 1, most, 2)
    places = [(most + y, most + x) for y in steps for x in steps]
    D = FREQUENCIES**2
    windows = np.empty((len(pictures), len(places), D), np.float32)
    middle = np.empty((len(pictures), D), np.float32)
    for start in range(0, len(pictures), WINDOWS):
        block = pictures[start : start + WINDOWS]
        for place, (y, x) in enumerate(places):
            windows[start : start + WINDOWS, place] = _describe(block, y, x, most)
        middle[start : start + WINDOWS] = _describe(block, most, most, most)
    return windows, middle


def _describe(pictures: NDArray[np.uint8], y: int, x: int, most: int) -> NDArray[np.float32]:
    """Describe the windows (y, x) of pictures: (B, D) whole numbers, zeros for flat windows."""
    height, width = (side - 2 * most for side in pictures.shape[1:])
    window = pictures[:, y : y + height, x : x + width].astype(np.float64)
    deviation = window.std(axis=(1, 2))
    waves = _cosines(height) @ window @ _cosines(width).T
    length = np.maximum(deviation, FLAT) * np.sqrt(height * width)
    low = waves.reshape(len(window), -1)[:, 1:] / length[:, None]
    rest = np.sqrt(np.clip(1 - (low**2).sum(1), 0, None))
    whole = np.rint(SCALE * np.column_stack([low, rest]))
    whole[deviation < FLAT] = 0
    return whole.astype(np.float32)


def _cosines(side: int) -> NDArray[np.float64]:
    """Return the lowest waves of an orthonormal cosine transform, (K, side)."""
    k, n = np.arange(FREQUENCIES)[:, None], np.arange(side)
    waves = np.cos(np.pi * k * (2 * n + 1) / (2 * side)) * np.sqrt(2 / side)
    waves[0] /= np.sqrt(2)
    return waves


# what mirroring does to a description: waves that are odd from left to right change their sign
_SIGNS = np.tile((-1.0) ** np.arange(FREQUENCIES), FREQUENCIES)[1:]
_MIRROR = np.append(_SIGNS, 1).astype(np.float32)


def _candidates(
    windows: NDArray[np.float32], middle: NDArray[np.float32], start: int
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return pairs (M, 2) of a block of pictures with later ones, and whether mirrored."""
    block = middle[start : start + QUERIES]
    queries = np.concatenate([block, block * _MIRROR])
    N, S, D = windows.shape
    flat = windows.reshape(N * S, D)
    keys: list[Rows] = []  # (query, picture) as one number
    count = 0
    for column in range(start * S, N * S, WINDOWS):
        bounds = queries @ flat[column : column + WINDOWS].T
        passes = bounds >= BOUND * SCALE**2
        rows = np.flatnonzero(passes.any(axis=1))
        query, window = np.nonzero(passes[rows])
        keys.append(np.unique(rows[query] * N + (column + window) // S))
        count += len(keys[-1])
        if count > MOST_CANDIDATES * len(block) + N:
            raise AlikeError(_too_alike(f"{count:,} candidates for {len(block)} of them"))
    query, other = np.divmod(np.unique(np.concatenate(keys)), N)
    mirrored, one = query >= len(block), start + query % len(block)
    later = other > one
    return np.column_stack([one, other])[later], mirrored[later]


def _too_alike(found: str) -> str:
    return (
        f"expected few pictures that show the same but {found} are alike: these pictures are alike "
        "by nature; use duplicates: group"
    )


# --- Step 2: the correlation itself


class Windows:
    """All windows of pictures of whole numbers, and how much each of them varies.

    Args:
        pictures: (N, H, W).
        flat: standard deviation below which a window correlates with nothing.
    """

    def __init__(self, pictures: NDArray[Any], flat: float = FLAT) -> None:
        self.pictures, self.flat = pictures, flat
        self.most = _shift(pictures)
        self.size = tuple(side - 2 * self.most for side in pictures.shape[1:])
        self.n = self.size[0] * self.size[1]
        shape = (len(pictures), 2 * self.most + 1, 2 * self.most + 1)
        self.totals, self.varies = np.empty(shape), np.empty(shape)
        for start in range(0, len(pictures), PAIRS_AT_ONCE):
            here = slice(start, start + PAIRS_AT_ONCE)
            block = pictures[here].astype(np.float64)
            self.totals[here] = _box_sums(block, *self.size)
            # n² times the variance: a whole number, so exact in any order, as is the covariance
            self.varies[here] = self.n * _box_sums(block**2, *self.size) - self.totals[here] ** 2

    def correlations(
        self, pairs: Rows, mirrored: NDArray[np.bool_], least: float = 0.0
    ) -> NDArray[np.float32]:
        """Correlate pictures pair by pair, (M,): the best over all shifts of either one.

        Args:
            pairs: (M, 2) rows.
            mirrored: (M,) whether the first is mirrored.
            least: pictures that are surely less alike are compared at some shifts only.
        """
        found = np.empty(len(pairs), np.float32)
        for start in range(0, len(pairs), PAIRS_AT_ONCE):
            here = slice(start, start + PAIRS_AT_ONCE)
            found[here] = self._best(pairs[here], mirrored[here], least)
        return found

    def _best(self, pairs: Rows, mirrored: NDArray[np.bool_], least: float) -> NDArray[np.float64]:
        one, other = (self.pictures[rows].astype(np.float64) for rows in pairs.T)
        one[mirrored] = one[mirrored, :, ::-1]
        every, second = (
            [(y, x) for y in shifts for x in shifts]
            for shifts in (range(2 * self.most + 1), range(1, 2 * self.most, 2))
        )
        tried = np.stack([self._at(pairs, one, other, *place) for place in second])
        best, where = tried.max(0), tried.argmax(0)
        for number, (y, x) in enumerate(second):
            near = np.flatnonzero((where == number) & (best >= WORTH_A_LOOK * least))
            for dy, dx in BESIDE if len(near) else ():
                value = self._at(pairs[near], one[near], other[near], y + dy, x + dx)
                best[near] = np.maximum(best[near], value)
        again = np.flatnonzero(best >= least - LOSS)
        one, other, pairs = one[again], other[again], pairs[again]
        for y, x in every if len(again) else ():
            value = self._at(pairs, one, other, y, x)
            best[again] = np.maximum(best[again], value)
            # a window of a mirrored picture has the sums of the one on its other side
            across = np.where(mirrored[again], 2 * self.most - x, x)
            value = self._at(pairs[:, ::-1], other, one, y, x, across)
            best[again] = np.maximum(best[again], value)
        return best

    def _at(
        self,
        pairs: Rows,
        one: NDArray[np.float64],
        other: NDArray[np.float64],
        y: int,
        x: int,
        across: Rows | None = None,
    ) -> NDArray[np.float64]:
        """Correlate the middles of some pictures with the windows (y, x) of others, (B,).

        Args:
            pairs: (B, 2) rows of both.
            one: (B, H, W) the first, perhaps mirrored.
            other: (B, H, W) the second, perhaps mirrored.
            y: of the window.
            x: of the window.
            across: (B,) where the window lies in the second before it was mirrored; `x` without it.
        """
        (first, second), (height, width), most = pairs.T, self.size, self.most
        middle = one[:, most : most + height, most : most + width]
        window = other[:, y : y + height, x : x + width]
        product = np.einsum("bij,bij->b", middle, window)
        place = x if across is None else across
        totals = self.totals[first, most, most], self.totals[second, y, place]
        varies = self.varies[first, most, most], self.varies[second, y, place]
        steep = np.minimum(*varies) >= (self.flat * self.n) ** 2
        length = np.sqrt(np.maximum(varies[0], 1)) * np.sqrt(np.maximum(varies[1], 1))
        return np.where(steep, (self.n * product - totals[0] * totals[1]) / length, 0)


def _box_sums(pictures: NDArray[np.float64], height: int, width: int) -> NDArray[np.float64]:
    """Add up every window of (B, H, W) pictures: (B, H - height + 1, W - width + 1)."""
    sums = np.pad(pictures, ((0, 0), (1, 0), (1, 0))).cumsum(1).cumsum(2)
    return (
        sums[:, height:, width:]
        - sums[:, :-height, width:]
        - sums[:, height:, :-width]
        + sums[:, :-height, :-width]
    )


def details(pictures: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Take from each pixel of (N, H, W) the mean of those around it, times their number.

    What remains are edges and wrinkles, without the light.
    """
    found = np.empty(pictures.shape, np.int32)
    for start in range(0, len(pictures), PAIRS_AT_ONCE):
        block = pictures[start : start + PAIRS_AT_ONCE].astype(np.float64)
        edge = AROUND // 2
        wide = np.pad(block, ((0, 0), (edge, edge), (edge, edge)), mode="reflect")
        means = _box_sums(wide, AROUND, AROUND)
        found[start : start + PAIRS_AT_ONCE] = AROUND**2 * block - means
    return found


# --- Groups


def _groups(windows: Windows, pairs: Rows, correlation: NDArray[np.float32]) -> Rows:
    """Join near-twins, the most alike first, unless two images of a group would not be alike."""
    groups = np.arange(len(windows.pictures))
    members = {int(row): [int(row)] for row in np.unique(pairs)}
    for place in np.lexsort((pairs[:, 1], pairs[:, 0], -correlation)):
        one, other = sorted(int(groups[row]) for row in pairs[place])
        if one == other or not _may_join(windows, members[one], members[other]):
            continue
        members[one] += members.pop(other)
        groups[members[one]] = one
    return groups


def _may_join(windows: Windows, some: list[int], others: list[int]) -> bool:
    if len(some) == len(others) == 1:
        return True
    pairs = np.array([(one, other) for one in some for other in others])
    best = [
        windows.correlations(pairs, np.full(len(pairs), flip), ALIKE_IN_GROUP)
        for flip in (False, True)
    ]
    return bool((np.maximum(*best) >= ALIKE_IN_GROUP).all())
