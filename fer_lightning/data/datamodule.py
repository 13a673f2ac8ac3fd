"""The data of a run: reads or draws it, splits it, and serves it in batches."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import lightning as L
import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_only
from numpy.typing import NDArray
from rich.panel import Panel
from torch.utils.data import DataLoader

from fer_lightning.data import cache
from fer_lightning.data.augment import Augmentation, augment, augment_together, to_float
from fer_lightning.data.batches import Batch, EvalBatches, Part, TrainBatches
from fer_lightning.data.cue import Cue, plant
from fer_lightning.data.defects import drawn_defects
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.landmarks import WITHOUT, Landmarks, landmarks_of, regions_note
from fer_lightning.data.masks import region_masks, regions_of
from fer_lightning.data.readers.masks import with_label_maps
from fer_lightning.data.regions import FACE
from fer_lightning.data.splits import (
    PARTS,
    Duplicates,
    Protocol,
    Split,
    check_amount,
    class_counts,
    make_split,
    read_manifest,
    to_manifest,
)
from fer_lightning.data.twins import AlikeError, Twins, can_search
from fer_lightning.errors import UserError, nearest
from fer_lightning.screen import Screen

# --- Some pictures of a data set, to be sliced like an array: ``data.test[:200]``


@dataclass(frozen=True, repr=False)
class View:
    """Rows of an `ImageSet`; nothing is copied before `images` is asked for.

    Args:
        image_set: the whole data set.
        rows: (N,) places in it.
        landmarks: where the regions of single faces are, where this is known.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> view = View(drawn_faces(20), np.arange(5, 15))
    >>> len(view[:4]), view[[0, 2]].rows.tolist(), view[-1][0].shape
    (4, [5, 7], (1, 48, 48))
    """

    image_set: ImageSet
    rows: NDArray[np.int64]
    landmarks: Landmarks | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"{len(self)} images of {self.image_set.name}"

    @overload
    def __getitem__(self, place: int) -> tuple[NDArray[np.uint8], int]: ...
    @overload
    def __getitem__(self, place: slice | Sequence[int] | NDArray) -> "View": ...
    def __getitem__(
        self, place: int | slice | Sequence[int] | NDArray
    ) -> "tuple[NDArray[np.uint8], int] | View":
        """One image (C, H, W) with its label, or a smaller view.

        Raises:
            UserError: there is no such image.
        """
        try:
            rows = self.rows[place]
        except IndexError as error:
            raise UserError(f"expected one of {len(self)} images but got {place!r:.40}") from error
        if isinstance(rows, np.ndarray):
            return replace(self, rows=rows)
        return self.image_set.images[rows], int(self.image_set.labels[rows])

    @property
    def images(self) -> NDArray[np.uint8]:
        """The pictures, (N, C, H, W)."""
        return np.ascontiguousarray(self.image_set.images[self.rows])

    @property
    def labels(self) -> NDArray[np.int64]:
        """Their classes, (N,)."""
        return self.image_set.labels[self.rows]

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in label order."""
        return self.image_set.classes

    @property
    def files(self) -> list[str]:
        """Where each image came from."""
        return [str(name) for name in self.image_set.files[self.rows]]


# --- How files are read and which faces are drawn: the options under ``--data``


@dataclass(frozen=True)
class Files:
    """How files are read.

    Args:
        class_names: names in the source to names of ours, e.g. ``{"1": "surprise"}``.
        image_size: side to which images are resized; needed where a source mixes sizes.
        colour: keep or drop colour; by default grey where every image is grey.
        on_corrupt: whether an unreadable image ends the run or is skipped and counted.
        ferplus: path of ``fer2013new.csv``, whose votes replace the labels of ``fer2013.csv``.
        soft_labels: train on the distribution of the votes instead of the majority.
        min_agreement: share of votes that the winning label must have.
    """

    class_names: dict[str, str] | None = None
    image_size: int | None = None
    colour: bool | None = None
    on_corrupt: Literal["error", "skip"] = "error"
    ferplus: str | None = None
    soft_labels: bool = False
    min_agreement: float = 0.0


@dataclass(frozen=True)
class Drawn:
    """Which faces are drawn.

    Args:
        size: number of faces.
        seed: seed of the drawing.
        image_size: side in pixels.
        cue: plants a pattern in the background that predicts the label.
        cue_strength: probability that the pattern agrees with the label.
        expression: ``random`` draws expressions that have nothing to do with the label.
        difficulty: from 0 (plain faces) to 1 (turned, dark, hidden, half-hearted).
        movement: how far heads turn and wander, 0 to 3; null: as the difficulty has it.
    """

    size: int = 3000
    seed: int = 0
    image_size: int = 48
    cue: Literal["none", "background"] = "none"
    cue_strength: float = 1.0
    expression: Literal["label", "random"] = "label"
    difficulty: float = 0.5
    movement: float | None = None


@dataclass(frozen=True)
class Defects:
    """Which defects are drawn.

    Args:
        size: number of plates.
        seed: seed of the drawing.
        image_size: side in pixels.
        difficulty: from 0 (clear defects, calm surfaces) to 1 (faint ones, busy surfaces).
    """

    size: int = 2000
    seed: int = 0
    image_size: int = 48
    difficulty: float = 0.5


DEFAULT_DIR = "data"  # looked at when no data_dir is given
ALIKE_BY_NATURE = (
    "the pictures are alike by nature, so that likeness tells no near-twins: only identical ones "
    "are kept together"
)


class FERDataModule(L.LightningDataModule):
    """FER-2013 in any of its forms, another folder of images, drawn faces or drawn defects.

    Args:
        data_dir: file, archive or folder with the images; without one, ``data/`` is looked at.
        source: ``auto`` reads `data_dir` (or ``data/``, and draws faces, loudly, where there is
            nothing in it); ``drawn`` draws faces whatever there is, ``defects`` plates with flaws.
        split: ``ratio`` is 8:1:1; ``official`` follows the source's own parts; ``train_test`` too,
            with the test images as validation, see `make_split`.
        duplicates: what happens to identical images and near-twins, see `make_split`; by default
            ``near`` for grey pictures of 24 to 64 pixels a side, unless they were drawn or are
            alike by nature, and ``group`` for others.
        split_seed: seed of the split; not the training seed, so that repeats share a split.
        fraction: share of the training images to use, in (0, 1].
        train_size: number of training images to use instead of a fraction.
        manifest: ``split.json`` of another run, used instead of a new split.
        batch_size: images per training step and rank.
        eval_batch_size: images per validation and test step and rank.
        num_workers: loader processes; the data is in memory, so 0 is fastest on most machines.
        augmentation: what happens to training images.
        scale: ``unit`` feeds a model pixels in [0, 1], as the paper does; ``standard`` lets it
            subtract the mean of the training pixels and divide by their standard deviation, channel
            by channel. The model does so itself and carries both numbers with its weights.
        files: how files are read.
        drawn: which faces are drawn.
        defects: which defects are drawn.
        cue: a pattern that names the class, planted at a known place of every picture.
        predict_part: which images ``predict`` takes.
        landmarks: where the regions of each face are (.npz of ``fer-lightning landmarks``, .csv,
            .json), for focus and for losses on regions; by default those that ship with the package
            where they know the pictures (FER-2013); ``none`` uses the template for all.
        masks: folder of label maps (PNG) with the pictures' relative paths, for other data.
        regions: YAML file that names the values of the label maps, see `read_scheme`.
        cache_dir: where parsed files are kept; beside the source, or in the user's cache folder.

    >>> data = FERDataModule(source="drawn", drawn=Drawn(size=100))
    >>> data.setup("fit")
    >>> len(data.split.train), next(iter(data.train_dataloader())).image.shape
    (80, torch.Size([64, 1, 48, 48]))
    """

    def __init__(
        self,
        data_dir: str | None = None,
        source: Literal["auto", "drawn", "defects"] = "auto",
        split: Protocol = "ratio",
        duplicates: Duplicates | None = None,
        split_seed: int = 0,
        fraction: float = 1.0,
        train_size: int | None = None,
        manifest: str | None = None,
        batch_size: int = 64,
        eval_batch_size: int = 256,
        num_workers: int = 0,
        augmentation: Augmentation = Augmentation(),  # noqa: B008 (frozen)
        scale: Literal["unit", "standard"] = "unit",
        files: Files = Files(),
        drawn: Drawn = Drawn(),
        defects: Defects = Defects(),
        cue: Cue = Cue(),  # noqa: B008 (frozen)
        predict_part: Literal["train", "val", "test"] = "test",
        landmarks: str | None = None,
        masks: str | None = None,
        regions: str | None = None,
        cache_dir: str | None = None,
    ) -> None:
        options = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__()
        self.options = options  # all of them, for a run's config.yaml
        check_amount(fraction, train_size)
        for name, value in (("batch_size", batch_size), ("eval_batch_size", eval_batch_size)):
            if value < 1:
                raise UserError(f"expected {name} of at least 1 but got {value}")
        if (masks is None) != (regions is None):
            raise UserError(
                "expected masks and regions together but got one of them; give the folder of "
                "label maps as --data.masks and the file of names as --data.regions"
            )
        self.data_dir, self.source, self.files, self.drawn = data_dir, source, files, drawn
        self.defects, self.masks_dir, self.regions_path = defects, masks, regions
        self.protocol, self.asked_duplicates, self.split_seed = split, duplicates, split_seed
        self.fraction, self.train_size, self.manifest_path = fraction, train_size, manifest
        self.batch_size, self.eval_batch_size = batch_size, eval_batch_size
        self.num_workers, self.augmentation, self.cache_dir = num_workers, augmentation, cache_dir
        self.predict_part, self.landmarks_path, self.cue = predict_part, landmarks, cue
        self.scale = scale
        self.parts: dict[str, Part] = {}
        self._given: ImageSet | None = None

    @classmethod
    def of(cls, image_set: ImageSet, **options: Any) -> "FERDataModule":
        """Serve a data set that is in memory.

        Args:
            image_set: the pictures.
            options: of the class, but for those that name files and drawings.
        """
        data = cls(**options)
        data._given = image_set
        return data

    @cached_property
    def image_set(self) -> ImageSet:
        """The whole data set, read or drawn at first use."""
        found = self._read_or_draw() if self._given is None else self._given
        if self.masks_dir is not None and self.regions_path is not None:
            found = with_label_maps(found, self.masks_dir, self.regions_path)
        elif self.landmarks_path not in (None, *WITHOUT) and found.regions is None:
            found = replace(found, scheme=FACE)  # whoever gives landmarks has faces
        if self.cue.place is None:
            return found
        return plant(found, self.cue, landmarks_of(found, self.landmarks_path))

    def _read_or_draw(self) -> ImageSet:
        path = self._path()
        if path is not None:
            return cache.load(path, cache_dir=self.cache_dir, **asdict(self.files))
        if self.source == "defects":
            return drawn_defects(**asdict(self.defects))
        if self.source == "auto":
            _say_that_faces_are_drawn()
        return drawn_faces(**asdict(self.drawn))

    def _path(self) -> Path | None:
        """The files to read; a path the user gave is never replaced by drawn faces."""
        if self.source != "auto":
            if self.data_dir is not None:
                raise UserError(
                    f"expected no data_dir with source: {self.source} but got {self.data_dir}; "
                    "leave one of them out"
                )
            return None
        if self.data_dir is not None:
            return Path(self.data_dir)
        default = Path(DEFAULT_DIR)
        return default if default.is_dir() and any(default.iterdir()) else None

    @cached_property
    def twins(self) -> Twins | None:
        """Identical copies and near-twins; None where likeness says nothing or cannot be found.

        Drawn pictures are independent of each other, and only looked at if ``near`` was asked for:
        two faces drawn at random can be as alike as two crops of a photograph.

        Raises:
            UserError: ``near`` was asked for and is not possible.
        """
        data, asked = self.image_set.unplanted, self.asked_duplicates == "near"
        if not asked and (data.independent or not can_search(data.images)):
            return None
        try:
            path = None if self.in_memory else self._path()
            return cache.twins_of(data, path, self.cache_dir, _say)
        except AlikeError:
            if asked:
                raise
            return None

    @cached_property
    def duplicates(self) -> Duplicates:
        """What happens to copies: what was asked for, otherwise what suits the pictures."""
        if self.asked_duplicates is None and self.manifest_path is not None:
            return self.split.duplicates
        return self.asked_duplicates or ("group" if self.twins is None else "near")

    @cached_property
    def split(self) -> Split:
        """The rows of each part, computed at first use or taken from the manifest."""
        if self.manifest_path is not None:
            return read_manifest(Path(self.manifest_path), self.image_set)
        split = make_split(
            self.image_set.unplanted,
            self.protocol,
            self.duplicates,
            self.split_seed,
            self.fraction,
            self.train_size,
            self.twins,
        )
        data = self.image_set.unplanted
        sought = can_search(data.images) and not data.independent
        if self.asked_duplicates is None and self.twins is None and sought:
            split = replace(split, notes=(*split.notes, ALIKE_BY_NATURE))
        return replace(split, fingerprint=self.image_set.fingerprint)  # also that of a cue

    @property
    def in_memory(self) -> bool:
        """Whether the pictures came from `of`, so that no option says where they are."""
        return self._given is not None

    @property
    def train(self) -> View:
        """The training images that are used, to be sliced."""
        return View(self.image_set, self.split.train, self.landmarks)

    @property
    def val(self) -> View:
        """The validation images."""
        return View(self.image_set, self.split.val, self.landmarks)

    @property
    def test(self) -> View:
        """The test images."""
        return View(self.image_set, self.split.test, self.landmarks)

    @property
    def sizes(self) -> dict[str, int]:
        """The arguments that make a model fit: ``create_model("vit", **data.sizes)``."""
        return {name: getattr(self, name) for name in ("num_classes", "in_chans", "image_size")}

    @property
    def num_classes(self) -> int:
        """Number of classes of the data set."""
        return len(self.image_set.classes)

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in label order."""
        return self.image_set.classes

    @property
    def in_chans(self) -> int:
        """1 for grey images, 3 for colour."""
        return self.image_set.images.shape[1]

    @property
    def image_size(self) -> int:
        """Side of the images in pixels."""
        return self.image_set.images.shape[2]

    @property
    def train_counts(self) -> list[int]:
        """Training images per class."""
        return class_counts(self.image_set, self.split.train).tolist()

    @cached_property
    def pixel_scale(self) -> dict[str, list[float]]:
        """What `VisionModel.set_scale` takes: mean and std of the training pixels; {} for [0, 1].

        Raises:
            UserError: the training pixels of a channel are all the same.
        """
        if self.scale == "unit":
            return {}
        mean, std = pixel_statistics(self.image_set.images, self.split.train)
        if not min(std):
            raise UserError(
                "expected training pixels that differ but those of a channel are all the same; "
                "use --data.scale=unit"
            )
        return {"mean": mean, "std": std}

    def majority_share(self, part: Literal["train", "val", "test"]) -> float:
        """Accuracy of always answering the most frequent class of a part."""
        counts = class_counts(self.image_set, getattr(self.split, part))
        return float(counts.max() / counts.sum())

    def describe(self) -> str:
        """What the run is trained on, and what was done about copies, in one or two lines."""
        data, split, counts = self.image_set, self.split, self.split.counts
        parts = ", ".join(f"{len(getattr(split, part)):,} {part}" for part in PARTS)
        done = {
            "group": f"{counts.get('moved', 0):,} images moved or left out to keep copies together",
            "near": f"{counts.get('moved', 0):,} images moved or left out to keep copies and "
            "near-twins together",
            "drop": f"{counts.get('dropped', 0):,} copies and contradictions dropped",
            "keep": "copies stay where they fall",
        }[split.duplicates]
        leaks, near = (
            " and ".join(f"{counts.get(f'{part}_with_{what}', 0):,} {part}" for part in PARTS[1:])
            for what in ("twin_in_train", "near_twin_in_train")
        )
        known = "test_with_near_twin_in_train" in counts
        lines = [
            f"{data.name} ({data.fingerprint}): {len(data):,} images, {parts}; "
            f"{split.protocol} split",
            f"{done}; {leaks} images have a twin in train"
            + (f", {near} images a twin or near-twin" if known else ""),
            *(str(note) for note in split.notes),
            *([f"regions: {self.regions_note}"] if self.regions_note else []),
        ]
        return "\n".join(lines)

    def manifest(self) -> dict[str, object]:
        """Everything that is needed to use this split again."""
        return to_manifest(self.split, self.image_set) | {
            "fraction": self.fraction,
            "train_size": self.train_size,
        }

    def setup(self, stage: str) -> None:
        """Read, split, and hold the parts of this stage in memory."""
        wanted = {
            "fit": ("train", "val"),
            "validate": ("val",),
            "test": ("test",),
            "predict": (self.predict_part,),
        }
        for part in wanted[stage]:
            if part not in self.parts:
                self.parts[part] = Part(self.image_set, getattr(self.split, part))

    @cached_property
    def landmarks(self) -> Landmarks | None:
        """Landmarks of single faces: of the file that was given, or the shipped ones."""
        return landmarks_of(self.image_set, self.landmarks_path)

    @cached_property
    def regions_note(self) -> str:
        """Where the regions of the pictures come from, in a sentence; empty if they have none."""
        return regions_note(self.image_set, self.landmarks)

    def check_regions(self, region: str) -> None:
        """Refuse a data set without this region."""
        order = regions_of(self.image_set).order
        if region not in order:
            raise UserError(f"expected a region but got '{region}'; {nearest(region, order)}")

    def add_masks(self, region: str) -> None:
        """Let training batches carry the mask of a region, moved with its image."""
        masks = region_masks(self.image_set, self.split.train, region, self.landmarks)
        self.parts["train"].mask = torch.from_numpy(masks)

    def train_dataloader(self) -> DataLoader[Batch]:
        """Shuffled training batches, a function of the training seed and the epoch."""
        seed = int(os.environ.get("PL_GLOBAL_SEED", 0))
        part = self.parts["train"]
        return self._loader(part, TrainBatches(len(part), self.batch_size, seed, *self._rank()))

    def val_dataloader(self) -> DataLoader[Batch]:
        """Each validation image once."""
        return self._eval_loader(self.parts["val"])

    def test_dataloader(self) -> DataLoader[Batch]:
        """Each test image once."""
        return self._eval_loader(self.parts["test"])

    def predict_dataloader(self) -> DataLoader[Batch]:
        """Each image of the chosen part once."""
        return self._eval_loader(self.parts[self.predict_part])

    def _eval_loader(self, part: Part) -> DataLoader[Batch]:
        return self._loader(part, EvalBatches(len(part), self.eval_batch_size, *self._rank()))

    def _loader(self, part: Part, batches: TrainBatches | EvalBatches) -> DataLoader[Batch]:
        return DataLoader(
            part,
            batch_sampler=batches,
            collate_fn=_as_it_is,
            num_workers=self.num_workers,
            persistent_workers=self.num_workers > 0,
            generator=torch.Generator(),  # its own, so that loading leaves torch's alone
        )

    def _rank(self) -> tuple[int, int]:
        return (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)

    def on_after_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        """Scale on the device; flip, rotate, shift and erase where it is for training."""
        images = to_float(batch.image)
        training = self.trainer is not None and self.trainer.training
        if batch.mask is not None:
            stacks = images, batch.mask[:, None].float()
            images, masks = augment_together(stacks, self.augmentation) if training else stacks
            return batch._replace(image=images, mask=masks[:, 0])
        return batch._replace(image=augment(images, self.augmentation) if training else images)


def pixel_statistics(
    images: NDArray[np.uint8], rows: NDArray[np.int64]
) -> tuple[list[float], list[float]]:
    """Return mean and standard deviation of each channel in [0, 1], exactly, by counting bytes.

    >>> pixel_statistics(np.array([[[[0, 255]]], [[[7, 7]]]], np.uint8), np.array([0]))
    ([0.5], [0.5])
    """
    counts = np.zeros((images.shape[1], 256), np.int64)
    for part in np.array_split(rows, -(-len(rows) // 1000)):  # few at a time: counting takes room
        for channel, pixels in zip(counts, images[part].swapaxes(0, 1), strict=True):
            channel += np.bincount(pixels.ravel(), minlength=256)
    levels = np.arange(256) / 255
    weights = counts / counts.sum(1, keepdims=True)
    mean = weights @ levels
    spread = (weights * (levels - mean[:, None]) ** 2).sum(1)
    return mean.tolist(), np.sqrt(spread).tolist()


def _as_it_is(batch: Any) -> Any:
    return batch


@rank_zero_only
def _say(line: str) -> None:
    Screen(stderr=True).print(line, markup=False, highlight=False)


@rank_zero_only
def _say_that_faces_are_drawn() -> None:
    text = (
        f"There is no data in {DEFAULT_DIR}/ and no --data.data_dir was given, so this "
        "run uses drawn faces, a small synthetic stand-in for FER-2013.\n"
        "Its numbers say nothing about real faces. For FER-2013: --data.data_dir=PATH "
        "(fer2013.csv, a folder, or an archive of either)."
    )
    title = "DRAWN FACES, NOT FER-2013"
    Screen(stderr=True).print(Panel(text, title=title, border_style="bold yellow"))
