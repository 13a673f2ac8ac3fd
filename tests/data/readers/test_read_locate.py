import pytest
from reader_samples import csv_text, encode, faces, fer_members, write_folder, zip_bytes

from fer_lightning.data.readers import has_fer2013, read
from fer_lightning.data.readers.detect import locate
from fer_lightning.errors import UserError

OTHER = {f"{c}/1.png": encode(faces(1)[0]) for c in "ab"}


def test_a_folder_that_holds_one_archive(tmp_path):
    write_folder(tmp_path, {"downloads/archive": zip_bytes(fer_members())})
    assert locate(tmp_path).path == tmp_path / "downloads/archive"
    assert len(read(tmp_path)) == 14
    assert has_fer2013(tmp_path)


def test_the_csv_with_the_official_split_is_preferred(tmp_path):
    members = {
        "train.csv": csv_text(20).encode().replace(b",Usage", b",").replace(b"\n\n", b"\n"),
        "icml_face_data.csv": csv_text(5).encode(),
        "fer2013.zip": zip_bytes(fer_members()),
        "example_submission.csv": b"Id,Prediction\n1,2\n",
    } | fer_members("folders/")
    location = locate(write_folder(tmp_path, members))
    assert location.path == tmp_path / "icml_face_data.csv"
    assert location.others == ("train.csv", "folders", "fer2013.zip")
    assert read(tmp_path).notes["chosen"] == str(tmp_path / "icml_face_data.csv")


def test_of_two_equal_ones_the_larger_then_the_first_by_name(tmp_path):
    text = csv_text(5).encode()
    write_folder(tmp_path, {"c.csv": csv_text(9).encode(), "b.csv": text, "a.csv": text})
    assert locate(tmp_path).path == tmp_path / "c.csv"
    assert locate(tmp_path).others == ("a.csv", "b.csv")


def test_fer2013_in_an_archive_comes_before_other_folders(tmp_path):
    write_folder(tmp_path, OTHER | {"z.zip": zip_bytes(fer_members()), "c.zip": zip_bytes(OTHER)})
    assert locate(tmp_path).path == tmp_path / "z.zip"
    assert locate(tmp_path).others == (str(tmp_path), "c.zip")


def test_a_damaged_archive_beside_a_sound_one_does_no_harm(tmp_path):
    write_folder(tmp_path, {"a.zip": b"PK\x03\x04 damaged", "b.zip": zip_bytes(fer_members())})
    assert locate(tmp_path).path == tmp_path / "b.zip"


def test_two_damaged_archives(tmp_path):
    write_folder(tmp_path, {"a.zip": b"PK\x03\x04 damaged", "b.zip": b"PK\x03\x04 damaged"})
    with pytest.raises(UserError, match=r"a\.zip is damaged"):
        read(tmp_path)


def test_the_folder_that_holds_the_classes_is_the_place(tmp_path):
    write_folder(tmp_path, fer_members("sets/fer2013/"))
    assert locate(tmp_path).path == tmp_path / "sets/fer2013"


def test_kind_folder_passes_over_a_csv(tmp_path):
    write_folder(tmp_path, {"fer2013.csv": csv_text(3).encode()} | OTHER)
    assert len(read(tmp_path, kind="folder")) == 2
    with pytest.raises(UserError, match="expected a data set"):
        read(tmp_path / "fer2013.csv", kind="folder")


@pytest.mark.parametrize(
    ("path", "message"), [("/dev/null", "is neither"), ("x" * 5000, "something readable")]
)
def test_paths_that_are_no_files(path, message):
    with pytest.raises(UserError, match=message):
        read(path)


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_no_fer2013_where_there_is_nothing(tmp_path, name):
    (tmp_path / "empty").mkdir()
    assert not has_fer2013(tmp_path / name)
