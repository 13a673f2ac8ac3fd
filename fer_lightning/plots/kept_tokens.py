"""Which patches of a face a model keeps, stage by stage."""

from collections.abc import Mapping, Sequence

import cv2
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fer_lightning.plots.style import DOUBLE, EDGE, GREY, SMALL, board, check_lengths, place, styled

CIVIDIS = mpl.colormaps["cividis"]
HEAD, LINE = 0.34, 0.17  # inches for headings of two lines and for names
GAP = 0.06  # between tiles, in tiles
DIM = 0.2  # what is left of the contrast of a dropped patch
VEIL = np.array([190, 211, 235], np.float32)  # pale blue, unlike any grey of a bright face
CAPTION = (
    "Patches under the blue veil were dropped: nothing that follows computes them. {last}"
    "Stages from left to right; layers count from 1."
)
SHARES = (
    "Last row: how often each place is kept among {n} images, from never (dark) to always "
    "(bright). "
)


@styled
def kept_tokens_figure(
    faces: NDArray[np.uint8],
    stages: Mapping[str, NDArray[np.bool_]],
    names: Sequence[str] | None = None,
    title: str = "",
    everywhere: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Figure:
    r"""Show which patches are left after each stage that drops some.

    Args:
        faces: (N, H, W) grey or (N, H, W, 3); four to eight read well.
        stages: by the name of a stage, (N, h, w): the patches that are left.
        names: N words below the faces, such as the class.
        title: model, epoch, data set and its fingerprint.
        everywhere: the same of many images, (M, h, w), for the last row.

    >>> figure = kept_tokens_figure(
    ...     np.zeros((1, 8, 8), np.uint8), {"patch pooling": np.eye(4, dtype=bool)[None]}
    ... )
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['image', 'patch pooling\n4 of 16']
    """
    given = {"faces": faces, **stages} | ({} if names is None else {"names": names})
    check_lengths(**given)
    step = 1 + GAP
    columns = max(5, 1 + len(stages)) * step - GAP
    tile = (DOUBLE - 2 * EDGE) / columns  # inches
    head = HEAD / tile
    row_height = 1 + (LINE / tile if names is not None else GAP)
    rows = len(faces) + (everywhere is not None)
    last = "" if everywhere is None else SHARES.format(n=len(next(iter(everywhere.values()), [])))
    caption = CAPTION.format(last=last)
    figure, axes = board(DOUBLE, columns, head + row_height * rows, title, caption)
    axes.text(0, head * 0.8, "image", fontsize=7, fontweight="bold")
    for column, (stage, masks) in enumerate(stages.items(), start=1):
        left = f"{masks[0].sum()} of {masks[0].size}"
        axes.text(column * step, head * 0.8, f"{stage}\n{left}", fontsize=7, fontweight="bold")
    for row, face in enumerate(faces):
        top = head + row * row_height
        place(axes, face, 0, top)
        if names is not None:
            axes.text(0, top + 1.03, names[row], fontsize=SMALL, va="top")
        for column, masks in enumerate(stages.values(), start=1):
            place(axes, dimmed(face, masks[row]), column * step, top)
    if everywhere is not None:
        top = head + len(faces) * row_height
        axes.text(0, top + 0.5, "how often kept", fontsize=SMALL, color=GREY, va="center")
        for column, masks in enumerate(everywhere.values(), start=1):
            share = masks.mean(0)  # h, w
            colours = (255 * CIVIDIS(share)[..., :3]).astype(np.uint8)
            place(axes, colours, column * step, top)
    return figure


def dimmed(face: NDArray[np.uint8], kept: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Fade the patches of a face that were not kept, (h, w), towards a pale blue.

    The picture is at least 96 pixels high, so that borders of patches are sharp.
    """
    face = face if face.ndim == 3 else np.repeat(face[..., None], 3, axis=2)
    times = -(-96 // len(face))
    size = (face.shape[1] * times, face.shape[0] * times)
    large = cv2.resize(face, size, interpolation=cv2.INTER_NEAREST).astype(np.float32)
    mask = cv2.resize(kept.astype(np.float32), size, interpolation=cv2.INTER_NEAREST)
    return np.where(mask[..., None] > 0, large, VEIL + DIM * (large - VEIL)).astype(np.uint8)
