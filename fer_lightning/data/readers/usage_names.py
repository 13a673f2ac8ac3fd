"""The official split, told by the names of folders and files."""

import re

from fer_lightning.data.image_set import Usage

FOLDERS = {
    "train": Usage.TRAINING,
    "training": Usage.TRAINING,
    "val": Usage.PUBLIC_TEST,
    "valid": Usage.PUBLIC_TEST,
    "validation": Usage.PUBLIC_TEST,
    "publictest": Usage.PUBLIC_TEST,
    "public_test": Usage.PUBLIC_TEST,
    "test": Usage.PRIVATE_TEST,
    "testing": Usage.PRIVATE_TEST,
    "privatetest": Usage.PRIVATE_TEST,
    "private_test": Usage.PRIVATE_TEST,
}
_OFFICIAL = re.compile("(Training|PublicTest|PrivateTest)_[0-9]+", re.IGNORECASE)
_PREFIX = re.compile("[a-z]+")


def folder_usage(folder: str) -> Usage | None:
    """Return the part of the split that a folder's name stands for, if any.

    >>> folder_usage("Validation"), folder_usage("angry")
    (<Usage.PUBLIC_TEST: 1>, None)
    """
    return FOLDERS.get(folder.lower())


def official_usage(name: str) -> Usage | None:
    """Return the part of FER-2013's split that a file's own name gives back, if any.

    >>> official_usage("test/angry/PublicTest_4711.jpg"), official_usage("test/angry/1.jpg")
    (<Usage.PUBLIC_TEST: 1>, None)
    """
    match = _OFFICIAL.match(name.rsplit("/", 1)[-1])
    return FOLDERS[match[1].lower()] if match else None


def path_usage(name: str) -> Usage | None:
    """Return what a listed path tells: its official name, a folder of it, or how its file begins.

    >>> path_usage("train_00001.jpg"), path_usage("val/7.png"), path_usage("testament.png")
    (<Usage.TRAINING: 0>, <Usage.PUBLIC_TEST: 1>, None)
    """
    *folders, file = name.split("/")
    found = [official_usage(file), *map(folder_usage, reversed(folders))]
    prefix = _PREFIX.match(file.lower())
    found.append(folder_usage(prefix[0]) if prefix else None)
    return next((usage for usage in found if usage is not None), None)
