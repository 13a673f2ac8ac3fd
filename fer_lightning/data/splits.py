"""Train, validation and test: who is on which side, as a pure function of data and split seed."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.twins import Twins, duplicate_groups, find_twins
from fer_lightning.errors import UserError

Protocol = Literal["ratio", "official", "train_test"]
Duplicates = Literal["near", "group", "keep", "drop"]
Rows = NDArray[np.int64]

MAX_BYTES = 256 * 2**20
PARTS = ("train", "val", "test")
TRAIN, VAL, TEST, OUT = 0, 1, 2, -1  # sides; OUT is in none of them
HELD_OUT = 0.1  # share of validation, and as much of test: 8:1:1
OPTIMISTIC = (
    "the test images also serve as validation: the best epoch's accuracy is optimistic, "
    "the last epoch's is honest"
)


@dataclass(frozen=True)
class Split:
    """Sorted rows of an `ImageSet` for each part, and what was decided to get them.

    `leaking` are the test rows with an identical twin in `train`, `near_twins` those with an
    identical or near one; None where nobody looked for near-twins.
    """

    train: Rows
    val: Rows
    test: Rows
    fingerprint: str
    protocol: Protocol
    duplicates: Duplicates
    seed: int
    counts: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    leaking: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    near_twins: Rows | None = None


def make_split(
    data: ImageSet,
    protocol: Protocol = "ratio",
    duplicates: Duplicates = "group",
    seed: int = 0,
    fraction: float = 1.0,
    train_size: int | None = None,
    twins: Twins | None = None,
) -> Split:
    """Divide a data set; validation and test do not depend on the fraction.

    Args:
        data: the whole data set.
        protocol: ``ratio`` is 8:1:1, stratified by class; ``official`` follows the source's usage,
            and a part that the source lacks is carved, stratified, out of its training part;
            ``train_test`` is for a source without validation part and keeps its whole training
            part, so that the test images are also validation and the best epoch is optimistic.
        duplicates: ``group`` keeps identical images on one side (official: training images with a
            twin in a test part are left out), ``near`` also near-twins, see `find_twins`; ``drop``
            keeps one of identical images, none if their labels conflict; ``keep`` ignores copies,
            so that some test images leak.
        seed: split seed, not the training seed: repeats of a training share a split.
        fraction: share of the training part to use, in (0, 1]; smaller ones lie inside larger ones.
        train_size: number of training images to use instead of a fraction.
        twins: of these images, if known; ``near`` looks for them itself, the others then do not
            count near-twins.

    Raises:
        UserError: impossible fraction or size, no usage to follow, or a class left without images.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> faces = drawn_faces(200, with_masks=False)
    >>> whole, half = make_split(faces), make_split(faces, fraction=0.5)
    >>> len(whole.train), len(whole.val), len(whole.test), len(half.train)
    (160, 20, 20, 80)
    >>> set(half.train) < set(whole.train), (half.test == whole.test).all().item()
    (True, True)
    """
    check_amount(fraction, train_size)
    rng = _generator(data.fingerprint, seed)
    if duplicates == "near" and twins is None:
        twins = find_twins(data.images)
    copies = duplicate_groups(data.images) if twins is None else twins.copies
    notes: list[str] = []
    usable = _one_of_each_group(data, copies, protocol) if duplicates == "drop" else None
    side = np.full(len(data), TRAIN) if protocol == "ratio" else _official_sides(data)
    if protocol == "train_test":
        _check_train_test(side, data)
        notes.append(OPTIMISTIC)
    if usable is not None:
        side[~usable] = OUT
    tenth = round(HELD_OUT * (side == TRAIN).sum())
    for part, name in ((TEST, "test"), (VAL, "validation")):
        if not (side == part).any() and protocol != "train_test":
            train = _stratified_order(np.flatnonzero(side == TRAIN), data.labels, rng)
            side[train[:tenth]] = part
            if protocol == "official":
                notes.append(f"the source has no {name} part: a tenth of Training serves as it")
    counts = {"dropped": int((side == OUT).sum())}
    if duplicates == "group":
        counts["moved"] = _keep_groups_together(side, copies, protocol)
    elif duplicates == "near" and twins is not None:
        counts["moved"] = _keep_groups_together(side, twins.groups, protocol)
    train = _reduce(np.flatnonzero(side == TRAIN), data, fraction, train_size, rng)
    val, test = (np.flatnonzero(side == part) for part in (VAL, TEST))
    if protocol == "train_test":
        val = test
    in_train = np.isin(copies, copies[train])
    seen = None if twins is None else twins.seen(train)
    for rows, name in ((val, "val"), (test, "test")):
        counts[f"{name}_with_twin_in_train"] = int(in_train[rows].sum())
        if seen is not None:
            counts[f"{name}_with_near_twin_in_train"] = int(seen[rows].sum())
    return Split(
        *(train, val, test, data.fingerprint, protocol, duplicates, seed),
        *(counts, tuple(notes), test[in_train[test]]),
        None if seen is None else test[seen[test]],
    )


def check_amount(fraction: float, train_size: int | None) -> None:
    """Refuse a fraction or a number of training images that cannot be."""
    if not 0 < fraction <= 1:
        raise UserError(f"expected a fraction above 0 and at most 1 but got {fraction}")
    if train_size is not None and train_size < 1:
        raise UserError(f"expected train_size of at least 1 but got {train_size}")
    if train_size is not None and fraction != 1:
        raise UserError(
            f"expected either fraction or train_size but got both ({fraction} and {train_size}); "
            "leave one out"
        )


def _generator(fingerprint: str, seed: int) -> np.random.Generator:
    digest = hashlib.sha256(f"{fingerprint} {seed}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def _official_sides(data: ImageSet) -> Rows:
    if not (data.usage == Usage.TRAINING).any():
        raise UserError(
            f"expected a source that names its training part but got {data.name} without one; "
            "use the ratio split"
        )
    side = np.full(len(data), OUT)
    parts = ((Usage.TRAINING, TRAIN), (Usage.PUBLIC_TEST, VAL), (Usage.PRIVATE_TEST, TEST))
    for usage, part in parts:
        side[data.usage == usage] = part
    return side


def _check_train_test(side: Rows, data: ImageSet) -> None:
    if (side == VAL).any() or not (side == TEST).any():
        found = "a validation part" if (side == VAL).any() else "no test part"
        raise UserError(
            f"expected a source of a training and a test part for the train_test split but "
            f"{data.name} has {found}; use the official split"
        )


def _one_of_each_group(data: ImageSet, groups: Rows, protocol: Protocol) -> NDArray[np.bool_]:
    """Mark one image of each group; in the source's own split the one in the latest part."""
    priority = np.zeros(len(data)) if protocol == "ratio" else data.usage
    order = np.lexsort((np.arange(len(data)), -priority, groups))
    first = np.concatenate([[True], np.diff(groups[order]) != 0])
    low = np.full(groups.max() + 1, np.iinfo(np.int64).max)
    high = np.full(groups.max() + 1, -1)
    np.minimum.at(low, groups, data.labels)
    np.maximum.at(high, groups, data.labels)
    usable = np.zeros(len(data), dtype=bool)
    usable[order[first]] = True
    return usable & (low == high)[groups]


def _stratified_order(rows: Rows, labels: Rows, rng: np.random.Generator) -> Rows:
    """Order rows so that every prefix holds each class in proportion, within one image."""
    rows = rng.permutation(rows)
    place = np.empty(len(rows))
    for label in np.unique(labels[rows]):
        of_class = np.flatnonzero(labels[rows] == label)
        place[of_class] = (np.arange(len(of_class)) + 0.5) / len(of_class)
    return rows[np.argsort(place, kind="stable")]


def _keep_groups_together(side: Rows, groups: Rows, protocol: Protocol) -> int:
    """Put copies on one side, in place; return how many images moved.

    Ratio: a copy follows the first image of its group. Otherwise test parts stay as they are, and
    a training image with a twin in one of them is left out.
    """
    before = side.copy()
    if protocol == "ratio":
        first = np.full(groups.max() + 1, len(groups))
        np.minimum.at(first, groups, np.arange(len(groups)))
        side[:] = side[first[groups]]
    else:
        held_out = np.isin(groups, groups[(side == VAL) | (side == TEST)])
        side[held_out & (side == TRAIN)] = OUT
    return int((side != before).sum())


def _reduce(
    train: Rows,
    data: ImageSet,
    fraction: float,
    train_size: int | None,
    rng: np.random.Generator,
) -> Rows:
    """Take the first images of a stratified order, so that smaller amounts are nested."""
    if train_size is not None and train_size > len(train):
        raise UserError(f"expected train_size of at most {len(train)} images but got {train_size}")
    wanted = round(fraction * len(train)) if train_size is None else train_size
    kept = np.sort(_stratified_order(train, data.labels, rng)[:wanted])
    missing = np.setdiff1d(np.unique(data.labels), data.labels[kept])
    if len(missing):
        names = ", ".join(data.classes[i] for i in missing)
        raise UserError(
            f"expected every class among the training images but none of {names} is left in "
            f"{wanted} of {len(train)}; raise the fraction or train_size"
        )
    return kept


def to_manifest(split: Split, data: ImageSet) -> dict[str, object]:
    """Describe a split completely: its rows, where they come from, and images per class."""
    manifest: dict[str, object] = {"format": 1, "data": data.name, **asdict(split)}
    manifest["images_per_class"] = {
        part: dict(zip(data.classes, class_counts(data, rows).tolist(), strict=True))
        for part, rows in ((part, getattr(split, part)) for part in PARTS)
    }
    for part in (*PARTS, "leaking", "near_twins"):
        rows = getattr(split, part)
        manifest[part] = None if rows is None else rows.tolist()
    return manifest


def class_counts(data: ImageSet, rows: np.ndarray) -> np.ndarray:
    """Count the images of each class among the given rows."""
    return np.bincount(data.labels[rows], minlength=len(data.classes))


def read_manifest(path: Path, data: ImageSet) -> Split:
    """Read a split back for the same data set."""
    if not path.is_file():
        raise UserError(f"expected a split manifest but found no file {path}")
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"expected a split manifest below {MAX_BYTES >> 20} MiB but got {path}")
    try:
        content = json.loads(path.read_text())
        parts = {part: np.asarray(content[part], dtype=np.int64) for part in PARTS}
        twins = {name: _of_test(content, name, parts) for name in ("leaking", "near_twins")}
        known: dict[str, Any] = {
            name: content[name] for name in ("fingerprint", "protocol", "duplicates", "seed")
        }
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise UserError(
            f"expected a split manifest (split.json) but could not read {path}: {error}"
        ) from error
    if known["fingerprint"] != data.fingerprint:
        raise UserError(
            f"expected a manifest of this data set ({data.name}, {data.fingerprint}) but {path} "
            f"belongs to {content.get('data')} ({known['fingerprint']})"
        )
    shared = known["protocol"] == "train_test" and np.array_equal(parts["val"], parts["test"])
    rows = np.concatenate([parts[part] for part in PARTS if not (shared and part == "val")])
    if rows.ndim != 1 or len(np.unique(rows)) != len(rows):
        raise UserError(f"expected each image in one part only but {path} repeats some")
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(data):
        raise UserError(f"expected rows below {len(data)} but {path} names others")
    if any(len(part) == 0 for part in parts.values()):
        raise UserError(f"expected images in train, val and test but {path} leaves one empty")
    known |= {"counts": content.get("counts", {}), "notes": tuple(content.get("notes", ()))}
    known["leaking"] = np.empty(0, np.int64) if twins["leaking"] is None else twins["leaking"]
    return Split(**(known | parts), near_twins=twins["near_twins"])


def _of_test(content: dict[str, Any], name: str, parts: dict[str, Rows]) -> Rows | None:
    """Return the test rows that a manifest lists under a name; None where it does not."""
    rows = content.get(name)
    return None if rows is None else np.intersect1d(parts["test"], np.asarray(rows, np.int64))


# --- The probe set: the few images on which every model and every epoch is looked at


def probe_rows(rows: Rows, n: int, seed: int, fingerprint: str) -> Rows:
    """Choose images at random, the same for every model, training seed and epoch.

    Each row of a data set draws a number that depends on (fingerprint, seed, row) only, and the
    images with the n smallest are taken. So a smaller probe lies inside a larger one, and two
    parts that share most images share most of their probe.

    Returns:
        At most n of the rows, sorted.
    """
    rows = np.unique(given := np.asarray(rows, np.int64))
    if n < 1:
        raise UserError(f"expected a probe of at least 1 image but got {n}; raise it")
    if given.ndim != 1 or len(given) == 0 or len(rows) != len(given) or rows[0] < 0:
        raise UserError(
            f"expected different rows of a data set to choose from but got {given!r:.80}; "
            "pass the rows of one part of a split"
        )
    digest = hashlib.sha256(f"probe {fingerprint} {seed}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:16], "big"))
    drawn = rng.random(rows[-1] + 1)[rows]
    return np.sort(rows[np.argsort(drawn, kind="stable")[:n]])
