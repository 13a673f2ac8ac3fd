import time

import numpy as np

from fer_lightning.data.audit import duplicate_groups


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
