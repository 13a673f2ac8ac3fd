import gzip

import numpy as np
import pytest
from reader_samples import csv_text, faces, row, tar_bytes, zip_bytes

from fer_lightning.data.image_set import Usage
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.readers import read
from fer_lightning.data.readers.fer2013 import parse_numbers
from fer_lightning.errors import UserError


@pytest.fixture
def write(tmp_path):
    def write(content, name="fer2013.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_reads_images_labels_usage_and_row_names(write):
    found = read(write(csv_text(10)))
    assert found.images.shape == (10, 1, 48, 48)
    assert found.images.dtype == np.uint8
    assert np.array_equal(found.images[:, 0], faces(10))
    assert found.labels.tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 1, 2]
    assert found.usage.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    assert found.classes == FER_CLASSES
    assert found.files[[0, 9]].tolist() == ["row 1", "row 10"]
    assert found.name == "FER-2013 (partial, 10 images)"


def test_every_pixel_value_in_every_width_is_read(write):
    image = np.arange(48 * 48).reshape(48, 48) % 256
    found = read(write(f"emotion,pixels\n0,{row(image, 0)[2:]}\n"))
    assert np.array_equal(found.images[0, 0], image)


def test_many_blocks_give_the_same_as_one(write, monkeypatch):
    path = write(csv_text(25))
    whole = read(path)
    monkeypatch.setattr("fer_lightning.data.readers.fer2013._BLOCK", 10_000)
    assert read(path).fingerprint == whole.fingerprint


def test_header_with_blanks_and_other_column_order(write):
    pixels = row(faces(1)[0], 0)[2:]
    found = read(write(f"emotion, Usage, pixels\n6,PrivateTest,{pixels}\n", "icml_face_data.csv"))
    assert np.array_equal(found.images[0, 0], faces(1)[0])
    assert found.labels.tolist() == [6]
    assert found.usage.tolist() == [Usage.PRIVATE_TEST]


def test_the_name_does_not_matter(write):
    assert len(read(write(csv_text(3), "notes.txt"))) == 3


def test_without_usage_it_is_unknown(write):
    found = read(write("emotion,pixels\n" + row(faces(1)[0], 4) + "\n", "train.csv"))
    assert found.usage.tolist() == [Usage.UNKNOWN]


def test_without_labels_it_says_so(write):
    pixels = row(faces(1)[0], 0)[2:]
    with pytest.raises(UserError, match="no labels"):
        read(write(f"pixels\n{pixels}\n", "test.csv"))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.removesuffix("\n"),
        lambda text: text + "\n\n",
        lambda text: "\ufeff" + text,
        lambda text: text.replace("Training", "training").replace("PublicTest", " PublicTest"),
        lambda text: text.replace(",Training", ',"Training"').replace("1,", '"1",'),
        lambda text: text.replace(" ", "  "),
        lambda text: text.replace("\n0,", "\n 0 ,"),
        lambda text: text.replace(" 7 ", " 007 "),
    ],
    ids=["crlf", "no last newline", "blank lines", "bom", "case", "quotes", "wide", "pad", "zeros"],
)
def test_harmless_differences_change_nothing(write, change):
    text = csv_text(8)
    assert change(text) != text
    assert read(write(change(text))).fingerprint == read(write(text, "plain.csv")).fingerprint


def damaged(n, old, new):
    """Return six good rows of which the n-th, counted from 1, is changed."""
    lines = csv_text(6).split("\n")
    assert old in lines[n]
    lines[n] = lines[n].replace(old, new, 1)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (damaged(4, " ", " 17 "), "expected 2304 pixels, but got 2305 in row 4"),
        (damaged(2, " ", " x "), "pixel 2 is 'x' in row 2"),
        (damaged(2, " ", " 256 "), "pixel 2 is '256' in row 2"),
        (damaged(2, " ", " -1 "), "pixel 2 is '-1' in row 2"),
        (damaged(2, " ", " 12.5 "), "pixel 2 is '12.5' in row 2"),
        (damaged(2, " ", " 1_0 "), "pixel 2 is '1_0' in row 2"),
        (damaged(2, " ", f" {'9' * 5000} "), "pixel 2 is '9999"),
        (damaged(3, "2,", "9,"), "label from 0 to 6, but got '9' in row 3"),
        (damaged(3, "2,", "happy,"), "label from 0 to 6, but got 'happy' in row 3"),
        (damaged(3, "2,", "12,"), "label from 0 to 6, but got '12' in row 3"),
        (damaged(5, "PublicTest", "Validation"), "but got 'Validation' in row 5"),
        (damaged(5, ",PublicTest", ""), "expected 3 columns, but got 2 in row 5"),
        (damaged(5, ",PublicTest", ",PublicTest,1"), "expected 3 columns, but got 4 in row 5"),
    ],
)
def test_a_fault_is_told_with_its_row(write, text, message):
    with pytest.raises(UserError, match=message):
        read(write(text))


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (3, "Usage Training, PublicTest or PrivateTest, but got 'Private"),
        (500, "expected 3 columns, but got 2"),
    ],
)
def test_a_cut_off_last_line_is_told_with_its_row(write, cut, message):
    with pytest.raises(UserError, match=rf"{message}.* in row 6"):
        read(write(csv_text(6).rstrip("\n")[:-cut]))


def test_a_short_row_and_a_long_row_do_not_make_up_for_each_other(write):
    lines = csv_text(6).split("\n")
    lines[2] = lines[2].replace(" ", " 1 ", 1)
    label, pixels, usage = lines[3].split(",")
    lines[3] = ",".join([label, pixels.split(" ", 1)[1], usage])
    with pytest.raises(UserError, match="got 2305 in row 2"):
        read(write("\n".join(lines)))


def test_the_row_number_counts_through_blocks(write, monkeypatch):
    monkeypatch.setattr("fer_lightning.data.readers.fer2013._BLOCK", 10_000)
    with pytest.raises(UserError, match="in row 5"):
        read(write(damaged(5, "PublicTest", "Validation")))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"emotion,pixels,Usage\n", "has only a header"),
        (b"emotion,pixels,Usage", "has only a header"),
        (b"a,b\n1,2\n", "begins with 'a,b'"),
        (bytes(range(256)) * 20, "begins with"),
        (csv_text(1).encode("utf-16"), "UTF-16"),
        (b"emotion,pixels,pixels\n", "pixels twice"),
        (b"Rar!\x1a\x07\x00", "archive of another kind"),
        (b"emotion,pixels\n0," + b"1 " * 2**20, "rows of at most"),
    ],
    ids=["empty", "header", "header2", "other", "binary", "utf16", "twice", "rar", "long row"],
)
def test_files_that_hold_no_faces_are_refused(write, content, message):
    with pytest.raises(UserError, match=message):
        read(write(content))


def test_missing_path():
    with pytest.raises(UserError, match="there is nothing"):
        read("no/such/fer2013.csv")


@pytest.mark.parametrize(
    "pack",
    [
        lambda text: zip_bytes({"fer2013/fer2013.csv": text}),
        lambda text: tar_bytes({"./fer2013/fer2013.csv": text}),
        lambda text: tar_bytes({"fer2013/fer2013.csv": text}, "w:gz"),
        gzip.compress,
    ],
    ids=["zip", "tar", "tar.gz", "gz"],
)
def test_the_same_from_an_archive_of_any_name(write, pack):
    text = csv_text(9).encode()
    packed = read(write(pack(text), "download"))
    assert packed.fingerprint == read(write(text)).fingerprint
    assert packed.name == "FER-2013 (partial, 9 images)"


def test_the_competitions_archive_gives_the_file_with_the_official_split(write):
    few = "emotion,pixels\n" + row(faces(1)[0], 4) + "\n"
    members = {
        "fer2013/README": b"see the paper",
        "fer2013/test.csv": few.replace("emotion,", "").replace("4,", "").encode(),
        "fer2013/train.csv": few.encode(),
        "fer2013/fer2013.csv": csv_text(6).encode(),
    }
    found = read(write(tar_bytes(members, "w:gz"), "fer2013.tar.gz"))
    assert len(found) == 6
    assert found.notes["also found"] == ["fer2013/train.csv", "fer2013/test.csv"]


def test_size_and_colour_can_be_asked_for(write):
    found = read(write(csv_text(2)), image_size=24, colour=True)
    assert found.images.shape == (2, 3, 24, 24)
    assert abs(found.images[0, 0, 0, 0] - faces(1)[0, :2, :2].mean()) <= 0.5


@pytest.mark.parametrize("size", [0, -1, 100_000])
def test_a_senseless_size_is_refused(write, size):
    with pytest.raises(UserError, match="image_size"):
        read(write(csv_text(1)), image_size=size)


def test_class_names_make_no_sense_for_it(write):
    with pytest.raises(UserError, match="option class_names"):
        read(write(csv_text(1)), class_names={"0": "angry"})


def test_more_of_a_class_than_fer2013_has_is_no_part_of_it(write):
    lines = csv_text(2).split("\n")
    extra = [lines[2]] * 57  # disgust has 56 in PublicTest
    assert read(write("\n".join([lines[0], *extra]), "faces.csv")).name == "faces"


@pytest.mark.parametrize("text", [b"1234", b"1,2", b"300", b"256", b"-1", b"1\t2"])
def test_the_fast_parser_passes_on_what_is_not_plain(text):
    assert parse_numbers(np.frombuffer(text, np.uint8)) is None


def test_the_fast_parser_knows_all_values():
    text = " ".join(map(str, range(256))).encode()
    values, ends = parse_numbers(np.frombuffer(text, np.uint8))
    assert values.tolist() == list(range(256))
    assert ends[[0, 10, 255]].tolist() == [0, 21, len(text) - 1]
