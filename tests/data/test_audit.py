import io
import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from fer_lightning.data.audit import audit, blank_images
from fer_lightning.data.cache import load
from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.twins import duplicate_groups


def test_group_id_is_the_row_of_the_first_copy():
    images = np.random.default_rng(0).integers(0, 256, (5, 1, 4, 4), dtype=np.uint8)
    images[3] = images[1]
    images[4] = images[1]
    assert duplicate_groups(images).tolist() == [0, 1, 2, 1, 1]


def test_one_pixel_makes_two_images_different():
    images = np.zeros((2, 1, 48, 48), np.uint8)
    images[1, 0, 47, 47] = 1
    assert duplicate_groups(images).tolist() == [0, 1]


def test_no_images_have_no_groups():
    assert duplicate_groups(np.empty((0, 1, 48, 48), np.uint8)).shape == (0,)


def test_strided_images_are_compared_by_value():
    images = np.zeros((2, 4, 4, 3), np.uint8)
    images[..., 1] = 5
    assert duplicate_groups(images.transpose(0, 3, 1, 2)).tolist() == [0, 0]


def test_all_of_fer2013_takes_less_than_a_second_of_processor_time():
    images = np.random.default_rng(0).integers(0, 256, (35_887, 1, 48, 48), dtype=np.uint8)
    start = time.process_time()
    duplicate_groups(images)
    assert time.process_time() - start < 1


def small_set():
    """Return eight images: 0 = 1 = 5 (labels differ), 2 = 6, 3 blank, 4 and 7 alone."""
    images = np.random.default_rng(0).integers(0, 256, (8, 1, 48, 48), dtype=np.uint8)
    images[1] = images[5] = images[0]
    images[6] = images[2]
    images[3] = 128
    return ImageSet(
        name="small",
        images=images,
        labels=np.array([0, 0, 1, 1, 0, 1, 1, 0]),
        usage=np.array([0, 0, 0, 0, 1, 1, 2, 2], np.int8),
        classes=("cat", "dog"),
        files=np.array(list("abcdefgh")),
        notes={"damaged pictures, left out": 3},
    )


def test_an_audit_by_hand():
    found = audit(small_set())
    assert found.images == 8
    assert found.shape == (1, 48, 48)
    assert found.counts == {
        "Training": {"cat": 2, "dog": 2},
        "PublicTest": {"cat": 1, "dog": 1},
        "PrivateTest": {"cat": 1, "dog": 1},
    }
    assert (found.copies, found.duplicate_groups, found.images_in_groups) == (3, 2, 5)
    assert found.contradicting_groups == 1
    assert found.blank == 1
    assert found.twins_in_training == {"PublicTest": 1, "PrivateTest": 1}


def test_a_set_without_split_has_no_twins():
    faces = replace(small_set(), usage=np.full(8, -1, np.int8))
    found = audit(faces)
    assert found.twins_in_training == {}
    assert list(found.counts) == ["unknown"]


@pytest.mark.parametrize(("spread", "is_blank"), [(0, True), (1, True), (3, False)])
def test_blank_is_a_standard_deviation_below_one(spread, is_blank):
    image = np.full((1, 1, 48, 48), 100, np.uint8)
    image[..., ::2] += np.uint8(spread)  # standard deviation: spread / 2
    assert blank_images(image).tolist() == [is_blank]


def test_json_and_tables_hold_the_numbers():
    found = audit(small_set())
    content = json.loads(found.to_json())
    assert content["copies"] == 3
    assert content["counts"]["Training"] == {"cat": 2, "dog": 2}
    console = Console(width=80, file=io.StringIO())
    for table in found.tables():
        console.print(table)
    text = console.file.getvalue()
    assert "…" not in text  # nothing cut off on an ordinary terminal
    assert "small: 8 grey images of 48x48" in text
    for line in ("copies of another image", "contradicting labels", "damaged pictures, left out"):
        assert line in text


@pytest.mark.parametrize(("pairs", "words"), [(1, "1 pair, 1 mirrored"), (2, "2 pairs, 1 ")])
def test_one_pair_is_no_pairs(pairs, words):
    near = {"pairs": pairs, "mirrored": 1, "images": 2, "groups": 1}
    console = Console(width=80, file=io.StringIO())
    console.print(*replace(audit(small_set()), near_twins=near).tables())
    assert words in console.file.getvalue()


def test_reading_and_auditing_import_no_torch():
    code = "import sys, fer_lightning.commands.audit; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.real_data
def test_fer2013_itself(tmp_path):
    path = os.environ.get("FER2013")
    if not path:
        pytest.skip("the environment variable FER2013 does not name a copy of FER-2013")
    faces = load(path, cache_dir=tmp_path)
    found = audit(faces)
    assert found.name == "FER-2013"
    assert faces.classes == FER_CLASSES
    assert [list(part.values()) for part in found.counts.values()] == [
        [3995, 436, 4097, 7215, 4830, 3171, 4965],
        [467, 56, 496, 895, 653, 415, 607],
        [491, 55, 528, 879, 594, 416, 626],
    ]
    assert (found.copies, found.duplicate_groups, found.images_in_groups) == (1853, 1516, 3369)
    assert found.contradicting_groups == 57
    assert found.blank == 13
    assert found.twins_in_training == {"PublicTest": 280, "PrivateTest": 288}
