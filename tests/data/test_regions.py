from dataclasses import replace

import numpy as np
import pytest

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.landmarks import Landmarks
from fer_lightning.data.masks import image_key, masks_for, template
from fer_lightning.data.regions import FACE, Outline
from fer_lightning.errors import UserError


@pytest.fixture(scope="module")
def faces() -> ImageSet:
    return drawn_faces(21)


def bare(faces: ImageSet) -> ImageSet:
    return replace(faces, masks=None, mask_regions=())


def square(x: float, y: float) -> list[Outline]:
    return [Outline(np.array([[x, y], [x + 6, y], [x + 6, y + 6], [x, y + 6]]))]


@pytest.mark.parametrize(
    ("region", "rows", "columns"),
    [
        ("eyes", (16, 22), (9, 39)),
        ("eyebrow", (11, 16), (8, 40)),
        ("nose", (21, 32), (18, 30)),
        ("mouth", (33, 42), (14, 34)),
    ],
)
def test_template_covers_the_rows_and_columns_of_the_mean_face(
    region: str, rows: tuple[int, int], columns: tuple[int, int]
) -> None:
    mask = template()[region]
    assert (mask.any(1).argmax(), 47 - mask.any(1)[::-1].argmax()) == rows
    assert (mask.any(0).argmax(), 47 - mask.any(0)[::-1].argmax()) == columns


def test_template_is_symmetric_and_its_regions_are_apart() -> None:
    masks = template()
    assert tuple(masks) == FACE.order
    assert sum(masks[name].astype(int) for name in FACE.parts).max() == 1
    for mask in masks.values():  # columns 1 to 47 mirror about column 24
        assert np.array_equal(mask[:, 1:], mask[:, :0:-1])
    assert not masks["eyes"][:, 22:27].any()
    assert not (masks["all"] & ~masks["face"]).any()


def test_template_holds_the_landmarks_of_fer2013() -> None:
    masks = template()
    points = {
        "eyes": [(15.2, 18.2), (32.4, 17.9)],
        "eyebrow": [(13.5, 13.3), (33.8, 13.0)],
        "nose": [(23.8, 27.3)],
        "mouth": [(24.0, 36.1)],
    }
    for name, places in points.items():
        assert all(masks[name][int(y), int(x)] for x, y in places)


def test_key_and_all_are_unions() -> None:
    masks = template()
    key = masks["eyes"] | masks["eyebrow"] | masks["mouth"]
    assert np.array_equal(masks["key"], key)
    assert np.array_equal(masks["all"], key | masks["nose"])


@pytest.mark.parametrize("size", [96, 112, 224, (48, 64)])
def test_template_scales(size: int | tuple[int, int]) -> None:
    for name, mask in template(size).items():
        assert mask.shape == ((size, size) if isinstance(size, int) else size)
        assert mask.mean() == pytest.approx(template()[name].mean(), rel=0.06)


def test_template_refuses_a_size_without_room() -> None:
    with pytest.raises(UserError, match=r"empty .* mask for the template at 2x2"):
        template(2)


def test_exact_masks_are_those_of_the_source(faces: ImageSet) -> None:
    assert faces.masks is not None
    rows = np.array([5, 0, 7])
    masks = masks_for(faces, rows, "exact")
    assert masks.shape == (3, 7, 48, 48)
    places = [FACE.order.index(name) for name in faces.mask_regions]
    assert np.array_equal(masks[:, places], faces.masks[rows])
    assert np.array_equal(masks[:, 4], faces.masks[rows][:, [0, 1, 3]].any(1))
    assert np.array_equal(masks[:, 5], faces.masks[rows][:, :4].any(1))
    assert np.array_equal(masks, masks_for(faces, rows, "auto"))


def test_template_kind_ignores_exact_masks(faces: ImageSet) -> None:
    masks = masks_for(faces, [3, 4], "template")
    assert np.array_equal(masks[0], np.stack(list(template().values())))
    assert np.array_equal(masks[0], masks[1])


def test_returned_masks_are_the_callers_own(faces: ImageSet) -> None:
    masks_for(faces, [0], "template")[:] = False
    assert template()["mouth"].any()


def test_landmarks_come_in_by_hash_and_the_template_fills_the_rest(faces: ImageSet) -> None:
    images = bare(faces)
    outlines = {name: square(6 * k, 6 * k) for k, name in enumerate(FACE.base)}
    known = Landmarks(outlines={image_key(images.images[2]): outlines})
    masks = masks_for(images, [2, 3], "auto", known)
    assert np.argwhere(masks[0, FACE.order.index("nose")]).min(0).tolist() == [18, 18]
    assert masks[0, FACE.order.index("nose")].sum() == 36
    assert np.array_equal(masks[1], np.stack(list(template().values())))
    with pytest.raises(UserError, match="landmarks of every image but got none of drawn/000003"):
        masks_for(images, [2, 3], "exact", known)


def test_an_image_without_masks_has_no_exact_ones(faces: ImageSet) -> None:
    with pytest.raises(UserError, match="exact region masks but got drawn faces without any"):
        masks_for(bare(faces), [0], "exact")


def test_masks_of_another_size_are_refused(faces: ImageSet) -> None:
    assert faces.masks is not None
    with pytest.raises(UserError, match=r"masks of 48x48 pixels .* but got 24x48"):
        masks_for(replace(faces, masks=faces.masks[:, :, ::2]), [0])


def test_a_missing_region_is_refused(faces: ImageSet) -> None:
    assert faces.masks is not None
    some = replace(faces, masks=faces.masks[:, :4], mask_regions=FACE.parts)
    with pytest.raises(UserError, match="but got none of face"):
        masks_for(some, [0])


def test_an_empty_mask_is_refused(faces: ImageSet) -> None:
    assert faces.masks is not None
    masks = faces.masks.copy()
    masks[1, 2] = False
    with pytest.raises(UserError, match="empty nose mask for drawn/000001"):
        masks_for(replace(faces, masks=masks), [0, 1])
    far = {name: square(90, 90) for name in FACE.base}
    known = Landmarks(outlines={image_key(faces.images[0]): far})
    with pytest.raises(UserError, match="empty eyes mask for drawn/000000"):
        masks_for(bare(faces), [0], "auto", known)


def test_names_of_before_lead_to_where_they_are_now() -> None:
    import fer_lightning.data.regions as before

    with pytest.warns(FutureWarning, match=r"masks_for is now in fer_lightning\.data\.masks"):
        assert before.masks_for is masks_for
    with pytest.warns(FutureWarning, match="FACE"):
        order = before.ORDER
    assert order == FACE.order
    with pytest.raises(AttributeError):
        _ = before.nothing
