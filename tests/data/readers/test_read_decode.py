import struct
import subprocess
import sys

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


def jpeg_with(before):
    """A small JPEG with segments put between its start and what follows."""
    data = encode(GREY, ".jpg")
    return data[:2] + before + data[2:]


COMMENT = b"\xff\xfe" + bytes(0xFFFE - 2)  # read as a length, it hides as many bytes
FRAME = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, 8, 8, 1) + b"\x01\x11\0"


@pytest.mark.parametrize(
    "before",
    [
        # libjpeg goes on right after a marker that has no length, and finds another frame there
        b"\xff\x01" + COMMENT,
        b"\xff\xd3" + COMMENT,
        b"\xff\x00" + COMMENT,
        FRAME,  # a second frame, of another size
    ],
    ids=["TEM", "restart", "stuffed", "two frames"],
)
def test_a_jpeg_that_could_be_read_in_two_ways_is_refused(before):
    assert decode(jpeg_with(b"\xff\xfe\0\x04hi")).shape == (48, 48)
    assert picture_size(jpeg_with(before)) is None


def test_a_comment_of_a_pnm_file_ends_where_opencv_ends_it():
    data = b"P5 # a comment\r60000 60000\n8 8 255\n" + bytes(64)
    assert picture_size(data) == (60_000, 60_000)
    assert picture_size(b"P5\n# made by hand\n8 4 255\n") == (4, 8)
    assert picture_size(b"P5 8#9 8\n4 255\n") is None


def tiff(*tags):
    """A grey TIFF of 8x8 pixels with some tags in place of its own, or beside them."""
    own = {256: 8, 257: 8, 258: 8, 259: 1, 262: 1, 273: 8, 277: 1, 278: 8, 279: 64}
    entries = [(tag, 4, 1, own[tag]) for tag in own if tag not in [t for t, *_ in tags]]
    entries = sorted([*entries, *tags])
    body = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    start = struct.pack("<I", 8 + 64)
    return b"II*\0" + start + bytes(64) + struct.pack("<H", len(entries)) + body + bytes(4)


@pytest.mark.parametrize(
    "tags",
    [
        [(256, 4, 1, 30_000), (256, 4, 1, 8)],  # two widths
        [(257, 1, 1, 8)],  # a height of one byte, whose other three we would read
        [(257, 4, 2, 8)],  # two heights elsewhere in the file
        [(258, 4, 1, 64)],  # eight bytes per pixel
        [(277, 4, 1, 4000)],  # samples per pixel
        [(322, 4, 1, 30_000), (323, 4, 1, 30_000)],  # one tile of 0.9 gigapixels
    ],
    ids=["two widths", "byte", "two values", "bits", "samples", "tile"],
)
def test_a_tiff_that_asks_for_more_than_its_size_is_refused(tags):
    assert decode(tiff()).shape == (8, 8)
    assert picture_size(tiff(*tags)) is None


def test_tiled_and_deep_tiffs_are_read():
    colour = np.random.default_rng(2).integers(0, 2**16, (40, 50, 3), dtype=np.uint16)
    assert decode(encode(colour, ".tiff")).shape == (40, 50, 3)


def test_the_command_line_caps_the_decoder_itself():
    """Whatever a header says: OpenCV refuses the picture, too."""
    code = (
        "import os, sys\nfrom fer_lightning import cli\ncli.main(['configs'])\n"
        "assert 'cv2' not in sys.modules\nimport cv2, numpy as np\n"
        "data = b'P5 8000 8000 255\\n' + bytes(100)\n"
        "try: cv2.imdecode(np.frombuffer(data, np.uint8), 0)\n"
        "except cv2.error as error: print(error.err)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "CV_IO_MAX_IMAGE_PIXELS" in run.stdout


def test_a_png_chunk_that_is_longer_than_the_file_is_refused():
    """OpenCV would take 4 GB for it."""
    data = bytearray(encode(GREY))
    place = data.index(b"IDAT") - 4
    assert picture_size(bytes(data)) == (48, 48)
    data[place : place + 4] = b"\x7f\xff\xff\xff"
    assert picture_size(bytes(data)) is None
