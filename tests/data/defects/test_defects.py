from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml

from fer_lightning.data.defects import drawn_defects, write_defects
from fer_lightning.data.defects.layout import lay_out
from fer_lightning.data.defects.marks import DEFECTS
from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.errors import UserError


@pytest.fixture(scope="module")
def plates() -> ImageSet:
    return drawn_defects(180)


def regions(image_set: ImageSet) -> dict[str, np.ndarray]:
    assert image_set.masks is not None
    return dict(zip(image_set.mask_regions, image_set.masks.swapaxes(0, 1), strict=True))


def centres(masks: np.ndarray) -> np.ndarray:
    """Mean x and y of each mask (N, H, W)."""
    y, x = np.mgrid[: masks.shape[1], : masks.shape[2]]
    area = masks.sum((1, 2))
    return np.stack([(masks * x).sum((1, 2)) / area, (masks * y).sum((1, 2)) / area], axis=1)


def test_an_image_depends_on_seed_and_index_only(plates: ImageSet) -> None:
    few, more = drawn_defects(20), plates.subset(np.arange(20))
    assert np.array_equal(few.images, more.images)
    assert np.array_equal(few.labels, more.labels)
    assert np.array_equal(few.masks, more.masks)
    other = drawn_defects(20, seed=1)
    assert not np.array_equal(few.images, other.images)
    assert not np.array_equal(few.labels, other.labels)


def test_shapes_names_and_balance(plates: ImageSet) -> None:
    assert plates.images.shape == (180, 1, 48, 48)
    assert plates.images.dtype == np.uint8
    assert plates.classes == ("crack", "dent", "pit", "scratch", "scuff", "stain")
    assert plates.mask_regions == ("defect", "print", "plate")
    assert np.bincount(plates.labels).tolist() == [30] * 6
    for part, count in zip(list(Usage)[1:], (144, 18, 18), strict=True):
        assert np.bincount(plates.labels[plates.usage == part]).tolist() == [count / 6] * 6
    assert len(np.unique(plates.images.reshape(180, -1), axis=0)) == 180


@pytest.mark.parametrize(
    ("image_size", "difficulty"), [(48, 0.5), (32, 0.0), (32, 1.0), (48, 0.0), (97, 1.0)]
)
def test_masks_are_there_apart_and_on_the_plate(image_size: int, difficulty: float) -> None:
    masks = regions(drawn_defects(60, image_size, seed=5, difficulty=difficulty))
    for name, mask in masks.items():
        assert mask.any((1, 2)).all(), name
    assert not (masks["defect"] & masks["print"]).any()
    assert not (masks["defect"] & ~masks["plate"]).any()
    assert not (masks["print"] & ~masks["plate"]).any()


@pytest.mark.parametrize("difficulty", [0.0, 1.0])
def test_the_layout_leaves_room_between_defect_stamp_and_edge(difficulty: float) -> None:
    largest = (7.5, 2.9), (6.5, 2.6), (3.5, 3.5)  # half sizes of digits, bars and square codes
    for k in range(600):
        stamp = largest[k % 3]
        layout = lay_out(np.random.default_rng(k), stamp, difficulty)
        outline = layout.outline.astype(np.float32)
        corners = layout.stamp.place(np.array(stamp) * [[1, 1], [-1, 1], [-1, -1], [1, -1]])
        x, y = layout.defect.x, layout.defect.y
        assert layout.reach > 5
        assert cv2.pointPolygonTest(outline, (x, y), True) > layout.reach + 1.3
        for corner in corners:
            assert cv2.pointPolygonTest(outline, tuple(map(float, corner)), True) > 0.5
        to_stamp = cv2.pointPolygonTest(corners.astype(np.float32), (x, y), True)
        assert -to_stamp > layout.reach + 1.8


def test_the_defect_mask_covers_all_that_the_class_changes(
    plates: ImageSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = plates.classes
    nothing = dict.fromkeys(names, lambda *_: None)
    monkeypatch.setattr("fer_lightning.data.defects.dataset.DEFECTS", nothing)
    clean = drawn_defects(60)
    change = np.abs(plates.images[:60, 0].astype(int) - clean.images[:, 0])
    defect = regions(plates)["defect"][:60]
    assert (change.max((1, 2)) > 20).all()  # each defect can be seen
    near = np.stack([cv2.dilate(m.astype(np.uint8), np.ones((3, 3))) for m in defect]) > 0
    assert change[~near].max() <= 4
    inside = (change * defect).sum((1, 2)) / change.sum((1, 2))
    assert inside.min() > 0.85
    assert not regions(clean)["defect"].any()


def test_print_texture_and_place_do_not_depend_on_the_class(
    plates: ImageSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all classes drawn as stains, all that is not the defect keeps its bytes."""
    stains = dict.fromkeys(DEFECTS, DEFECTS["stain"])
    monkeypatch.setattr("fer_lightning.data.defects.dataset.DEFECTS", stains)
    same = drawn_defects(60)
    ours, theirs = regions(plates), regions(same)
    for name in ("print", "plate"):
        assert np.array_equal(ours[name][:60], theirs[name])
    on_print = theirs["print"]
    change = np.abs(plates.images[:60, 0].astype(int) - same.images[:, 0])
    assert change[on_print].max() <= 1
    moved = centres(ours["defect"][:60]) - centres(theirs["defect"])
    assert np.hypot(*moved.T).max() < 6  # the shape differs, the place does not


def test_a_plate_looks_the_same_at_every_size(plates: ImageSet) -> None:
    large = drawn_defects(12, 96).images[:, 0]
    for small, big in zip(plates.images[:12, 0], large, strict=True):
        shrunk = cv2.resize(big, (48, 48), interpolation=cv2.INTER_AREA)
        assert np.corrcoef(small.ravel(), shrunk.ravel())[0, 1] > 0.97


def test_difficulty_makes_defects_fainter() -> None:
    def contrast(difficulty: float) -> float:
        plates = drawn_defects(60, difficulty=difficulty)
        defect = regions(plates)["defect"]
        return float(np.mean([i[0][m].std() for i, m in zip(plates.images, defect, strict=True)]))

    assert contrast(0.0) > 1.3 * contrast(1.0)


def test_masks_can_be_left_out_and_options_change_the_fingerprint() -> None:
    base, bare = drawn_defects(6), drawn_defects(6, with_masks=False)
    assert bare.masks is None
    assert bare.mask_regions == ()
    assert base.fingerprint == bare.fingerprint
    others = [drawn_defects(12), drawn_defects(6, seed=1), drawn_defects(6, difficulty=1)]
    assert len({base.fingerprint, *(other.fingerprint for other in others)}) == 4


@pytest.mark.parametrize(
    "wrong", [{"size": 5}, {"image_size": 31}, {"image_size": 513}, {"seed": -1}, {"difficulty": 2}]
)
def test_values_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    name, value = next(iter(wrong.items()))
    with pytest.raises(UserError, match=f"expected {name} of the drawn defects.* got {value}"):
        drawn_defects(**{"size": 6, **wrong})


def test_written_folder(tmp_path: Path) -> None:
    folder = write_defects(tmp_path / "plates", size=14, image_size=40, seed=2)
    plates = drawn_defects(14, 40, seed=2)
    files = sorted(p.relative_to(folder / "images") for p in folder.glob("images/*/*.png"))
    assert files == sorted(p.relative_to(folder / "masks") for p in folder.glob("masks/*/*.png"))
    assert len(files) == 14
    named = yaml.safe_load((folder / "regions.yaml").read_text())
    assert named == {
        "regions": {1: "plate", 2: "print", 3: "defect"},
        "unions": {"all": ["defect", "print"]},
        "primary": "defect",
        "outside": "plate",
    }
    masks = regions(plates)
    for i, label in enumerate(plates.labels):
        name = f"{plates.classes[label]}/{i:06d}.png"
        image = cv2.imread(str(folder / "images" / name), cv2.IMREAD_UNCHANGED)
        assert np.array_equal(image, plates.images[i, 0])
        values = cv2.imread(str(folder / "masks" / name), cv2.IMREAD_UNCHANGED)
        assert np.array_equal(values == 3, masks["defect"][i])
        assert np.array_equal(values == 2, masks["print"][i])
        assert np.array_equal(values > 0, masks["plate"][i])


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="expected a new or empty folder"):
        write_defects(tmp_path, size=6)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
