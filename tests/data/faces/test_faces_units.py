import numpy as np
import pytest
from numpy.typing import NDArray

from fer_lightning.data.faces.anatomy import Pose, brows, eyes, mouth
from fer_lightning.data.faces.people import FORMS, TOTAL, UNITS, Traits, draw_traits, strengths
from fer_lightning.data.labels import FER_CLASSES

Array = NDArray[np.float64]


def middling() -> Traits:
    """One face with every trait in the middle of its range: frontal and symmetric."""
    return draw_traits(np.full((1, TOTAL), 0.5))


def shapes(**units: float) -> dict[str, Array]:
    """Eyes, brows and mouth of the middling face under the given units, e.g. AU12=1."""
    au = {number: np.full((1, 2), units.get(f"AU{number}", 0.0)) for number in UNITS}
    traits = middling()
    pose = Pose.of(traits, 0.5)
    parts = (eyes, brows, mouth)
    return {k: v[0] for part in parts for k, v in part(traits, au, pose).items()}


def corner(shape: dict[str, Array]) -> float:
    return float(shape["lip_line"][0, 1])  # y grows downwards


def brow(shape: dict[str, Array], end: int) -> float:
    half = len(shape["brow"][1]) // 2
    return float(shape["brow"][1][:half][end, 1])  # right brow, from nose to temple


def gap(shape: dict[str, Array], upper: str, lower: str) -> float:
    middle = shape[upper][1].shape[0] // 2
    return float(shape[lower][1][middle, 1] - shape[upper][1][middle, 1])


def opening(shape: dict[str, Array]) -> float:
    return float(np.ptp(shape["opening"][:, 1]))


def test_units_move_what_facs_says() -> None:
    rest = shapes()
    assert corner(shapes(AU12=1)) < corner(rest) - 2  # lip corner puller
    assert corner(shapes(AU15=1)) > corner(rest) + 2  # lip corner depressor
    assert brow(shapes(AU1=1), 0) < brow(rest, 0) - 2.5  # inner brow raiser …
    assert brow(shapes(AU1=1), -1) == pytest.approx(brow(rest, -1), abs=0.2)  # … not the outer
    assert brow(shapes(AU2=1), -1) < brow(rest, -1) - 1.5
    assert brow(shapes(AU4=1), 0) > brow(rest, 0) + 2
    assert opening(shapes(AU25=1, AU26=1)) > opening(rest) + 4
    lids = gap(rest, "lid_up", "lid_low")
    assert gap(shapes(AU5=1), "lid_up", "lid_low") > 1.2 * lids
    assert gap(shapes(AU7=1), "lid_up", "lid_low") < 0.8 * lids
    assert gap(shapes(AU43=1), "lid_up", "lid_low") < 0.4 * lids


def test_the_middling_face_is_symmetric() -> None:
    line = shapes()["lip_line"]
    assert np.allclose(line[:, 1], line[::-1, 1])
    assert np.allclose(np.diff(line[:, 0]), np.diff(line[:, 0])[::-1])


def test_expressions_use_their_own_units() -> None:
    au = strengths(np.arange(7), draw_traits(np.full((7, TOTAL), 0.5)), difficulty=0.0)
    name = FER_CLASSES.index
    assert au[12][:, 0].argmax() == name("happy")
    assert au[9][:, 0].argmax() == name("disgust")
    assert au[2][:, 0].argmax() == name("surprise")
    assert au[20][:, 0].argmax() == name("fear")
    assert sum(au[n][name("neutral"), 0] for n in UNITS) < 0.3


def test_harder_faces_are_fainter() -> None:
    rng = np.random.default_rng(0)
    traits = draw_traits(rng.random((200, TOTAL)))
    happy = np.full(200, FER_CLASSES.index("happy"))
    smile = [strengths(happy, traits, d)[12].mean() for d in (0.0, 0.5, 1.0)]
    assert smile[0] > smile[1] > smile[2]


def test_forms_name_known_units_only() -> None:
    assert tuple(FORMS) == FER_CLASSES
    assert {unit for forms in FORMS.values() for form in forms for unit in form} <= set(UNITS)
