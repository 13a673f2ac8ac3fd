import struct

import cv2
import numpy as np
import pytest
from reader_samples import encode, faces

from fer_lightning.data.readers.pictures import BadPictureError, decode, picture_size, resize

GREY = faces(1)[0]
COLOUR = np.random.default_rng(1).integers(0, 256, (20, 30, 3), dtype=np.uint8)  # RGB


@pytest.mark.parametrize("ending", [".png", ".bmp", ".pgm", ".tiff"])
def test_grey_pictures_come_back_exactly(ending):
    assert np.array_equal(decode(encode(GREY, ending)), GREY)


@pytest.mark.parametrize("ending", [".png", ".bmp", ".ppm", ".tiff"])
def test_colours_come_back_as_rgb(ending):
    data = encode(COLOUR[..., ::-1], ending)
    assert picture_size(data) == (20, 30)
    assert np.array_equal(decode(data), COLOUR)


def test_jpeg_comes_back_as_opencv_reads_it():
    data = encode(GREY, ".jpg")
    assert picture_size(data) == (48, 48)
    expected = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    assert np.array_equal(decode(data), expected)


def test_transparency_is_dropped_and_sixteen_bits_become_eight():
    with_alpha = np.concatenate([COLOUR[..., ::-1], COLOUR[..., :1]], axis=-1)
    assert np.array_equal(decode(encode(with_alpha)), COLOUR)
    assert np.array_equal(decode(encode(GREY.astype(np.uint16) * 257)), GREY)


def test_a_camera_turned_by_ninety_degrees():
    data = encode(np.repeat(np.arange(0, 240, 5, dtype=np.uint8)[:, None], 48, 1), ".jpg")
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, 6, 0)  # orientation 6: turn clockwise
    exif = b"Exif\0\0MM\0*" + struct.pack(">IH", 8, 1) + entry + bytes(4)
    app1 = b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
    turned = decode(data[:2] + app1 + data[2:])
    assert np.array_equal(turned, np.rot90(decode(data), -1))


@pytest.mark.parametrize("ending", [".jpg", ".png", ".bmp", ".pgm", ".tiff"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_cut_off_pictures_are_refused(ending, share):
    data = encode(GREY, ending)
    with pytest.raises(BadPictureError):
        decode(data[: int(len(data) * share)])


def jpeg_of(height, width):
    data = bytearray(encode(GREY, ".jpg"))
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a whole"),
        (b"GIF89a" + bytes(100), "not a whole"),
        (jpeg_of(60_000, 60_000), "60000x60000 pixels"),
        (jpeg_of(0, 48), "48x0 pixels"),
        (b"P5 99999 99999 255\n", "99999x99999 pixels"),
        (b"BM" + bytes(16) + struct.pack("<ii", 50_000, -50_000), "50000x50000 pixels"),
        (b"BM" + bytes(16) + struct.pack("<ii", -5, 5), "-5x5 pixels"),
        (bytes(65 * 2**20), "larger than 64 MiB"),
    ],
    ids=["empty", "gif", "jpeg", "no height", "pgm", "bmp", "negative", "file"],
)
def test_pictures_that_are_none_or_too_large(data, reason):
    with pytest.raises(BadPictureError, match=reason):
        decode(data)


def test_growing_is_smooth_and_shrinking_averages():
    step = np.array([[0, 100]], np.uint8).repeat(2, axis=0)
    assert resize(step, 1).tolist() == [[50]]
    assert sorted(resize(step, 4)[0].tolist()) == [0, 25, 75, 100]
