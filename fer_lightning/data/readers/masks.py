"""Label maps of a user's pictures: PNG files whose pixel values are regions."""

from dataclasses import replace
from pathlib import Path, PurePosixPath

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.readers.pictures import BadPictureError, decode
from fer_lightning.data.readers.trees import FolderTree
from fer_lightning.data.regions import Regions
from fer_lightning.errors import UserError, nearest
from fer_lightning.schema import read_yaml

MAX_YAML = 1 << 16  # bytes of a file that names regions
WORDS = ("regions", "unions", "primary", "outside", "titles", "subject")


def read_scheme(path: str | Path) -> tuple[Regions, dict[str, tuple[int, ...]]]:
    """Read which pixel values of a label map are which region.

    The file names values, and may name unions, the primary region and the outside::

        regions: {1: plate, 2: print, 3: defect}  # 0 is background
        unions: {all: [defect, print]}
        primary: defect
        outside: plate                            # stands for every pixel that is not 0

    Returns:
        The regions, and the pixel values of each that has a mask.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"expected a YAML file that names regions but got {path}; check the path")
    content = read_yaml(path, MAX_YAML)
    named = content.get("regions") if isinstance(content, dict) else None
    if not isinstance(named, dict) or not all(
        type(value) is int and 1 <= value <= 255 and isinstance(name, str)
        for value, name in named.items()
    ):
        raise UserError(
            f"expected 'regions: {{1: name, ...}}' with pixel values from 1 to 255 in {path} but "
            f"got {named!r:.80}; see read_scheme"
        )
    for word in content:
        if word not in WORDS:
            raise UserError(
                f"expected one of {', '.join(WORDS)} in {path} but got '{word}'; "
                f"{nearest(str(word), WORDS)}"
            )
    outside = content.get("outside")
    parts = list(dict.fromkeys(name for name in named.values() if name != outside))
    values = {part: tuple(value for value, name in named.items() if name == part) for part in parts}
    scheme = {"primary": next(iter(parts), ""), **content, "parts": parts}
    try:
        regions = Regions.from_dict(scheme)
    except UserError as error:
        raise UserError(f"{error} (in {path})") from error
    if outside is not None:
        values[str(outside)] = tuple(range(1, 256))
    return regions, values


def with_label_maps(image_set: ImageSet, folder: str | Path, scheme: str | Path) -> ImageSet:
    """Give a data set the regions of label maps that lie in a folder.

    The label map of ``scratch/07.jpg`` is ``scratch/07.png`` in that folder: grey, of the picture's
    size or of the same shape before resizing.
    """
    regions, values = read_scheme(scheme)
    if not Path(folder).is_dir():
        raise UserError(f"expected a folder of label maps but there is none at {folder}")
    known = np.zeros(256, bool)
    known[[0, *(value for some in values.values() for value in some)]] = True
    H, W = image_set.images.shape[2:]
    masks = np.zeros((len(image_set), len(regions.base), H, W), bool)
    tree = FolderTree(Path(folder))
    names = [str(PurePosixPath(str(file)).with_suffix(".png")) for file in image_set.files]
    for name in names:
        if name not in tree.members:
            raise UserError(
                f"expected a label map for every picture but {folder} has no {name}; "
                "add it (all 0 where nothing is to be seen)"
            )
    for row, (name, data) in enumerate(tree.read(names)):
        labels = _label_map(name, data, (H, W))
        if not known[labels].all():
            raise UserError(
                f"expected values named in {scheme} but {name} has "
                f"{int(labels[~known[labels]][0])}; add it to 'regions'"
            )
        for k, region in enumerate(regions.base):
            masks[row, k] = np.isin(labels, values[region])
    found = replace(image_set, masks=masks, mask_regions=regions.base, scheme=regions)
    members = [regions.base.index(part) for part in regions.members(regions.primary)]
    if not masks[:, members].any():
        raise UserError(
            f"expected pixels of '{regions.primary}' in the label maps of {folder} but no picture "
            "has any; check values and names"
        )
    return found


def _label_map(name: str, data: bytes, size: tuple[int, int]) -> NDArray[np.uint8]:
    try:
        labels = decode(data)
    except BadPictureError as error:
        raise UserError(f"expected a label map but {name} is {error}; write it again") from error
    if labels.ndim != 2:
        raise UserError(
            f"expected a grey label map, one value per pixel, but {name} has colours; "
            "save it as 8-bit grey"
        )
    if labels.shape == size:
        return labels
    if labels.shape[0] * size[1] != labels.shape[1] * size[0]:
        raise UserError(
            f"expected a label map of {size[1]}x{size[0]} pixels or of the same shape but {name} "
            f"has {labels.shape[1]}x{labels.shape[0]}; make it at the picture's size"
        )
    return np.asarray(cv2.resize(labels, size[::-1], interpolation=cv2.INTER_NEAREST), np.uint8)
