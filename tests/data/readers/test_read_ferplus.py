import numpy as np
import pytest
from reader_samples import csv_text

from fer_lightning.data.labels import FERPLUS_CLASSES
from fer_lightning.data.readers import read
from fer_lightning.data.readers.ferplus import judge
from fer_lightning.errors import UserError

HEADER = (
    "Usage,Image name,neutral,happiness,surprise,sadness,anger,disgust,fear,contempt,unknown,NF"
)
VOTES = [  # order of the file's columns; labels in the CSV are 0, 1, 2, 3, 4, 5
    "Training,fer0000000.png,4,0,0,1,3,2,0,0,0,0",  # neutral with 0.4
    "PublicTest,fer0000001.png,0,10,0,0,0,0,0,0,0,0",  # happy with 1.0
    "PrivateTest,fer0000002.png,0,0,0,1,0,0,0,9,0,0",  # contempt with 0.9
    "Training,,0,0,0,0,0,0,0,0,0,10",  # no face
    "PublicTest,fer0000004.png,0,0,0,0,0,0,3,0,7,0",  # unknown
    "PrivateTest,fer0000005.png,0,0,5,0,0,5,0,0,0,0",  # surprise and disgust: 5 is surprise
]


@pytest.fixture
def files(tmp_path):
    faces, votes = tmp_path / "fer2013.csv", tmp_path / "fer2013new.csv"
    faces.write_text(csv_text(6))
    votes.write_text("\n".join([HEADER, *VOTES]) + "\n")
    return faces, votes


def test_the_majority_becomes_the_label(files):
    faces, votes = files
    found = read(faces, ferplus=votes)
    assert found.classes == FERPLUS_CLASSES
    assert [found.classes[k] for k in found.labels] == ["neutral", "happy", "contempt", "surprise"]
    assert found.files.tolist() == ["row 1", "row 2", "row 3", "row 6"]
    assert found.name == "FERPlus (partial, 4 images)"
    assert found.soft is None
    assert found.notes["FERPlus rows won by unknown or NF, dropped"] == 2
    assert found.notes["FERPlus ties decided"] == 1
    assert np.array_equal(found.images, read(faces).images[[0, 1, 2, 5]])


def test_votes_as_soft_labels(files):
    faces, votes = files
    soft = read(faces, ferplus=votes, soft_labels=True).soft
    assert soft.dtype == np.float32
    # angry disgust fear happy sad surprise neutral contempt
    assert soft[0] == pytest.approx([0.3, 0.2, 0, 0, 0.1, 0, 0.4, 0])
    assert soft.sum(axis=1) == pytest.approx(1)


def test_unknown_votes_are_taken_out_of_soft_labels():
    votes = np.array([[6, 0, 0, 0, 0, 0, 2, 0, 1, 1]])
    assert judge(votes, np.array([0])).soft[0] == pytest.approx([0.75, 0, 0, 0, 0, 0, 0.25, 0])


def test_least_agreement(files):
    faces, votes = files
    found = read(faces, ferplus=votes, min_agreement=0.9)
    assert found.files.tolist() == ["row 2", "row 3"]
    assert found.notes["FERPlus rows below min_agreement, dropped"] == 2
    with pytest.raises(UserError, match="from 0 to 1"):
        read(faces, ferplus=votes, min_agreement=1.5)


@pytest.mark.parametrize(
    ("votes", "own", "label"),
    [
        ([5, 5, 0, 0, 0, 0, 0, 0, 0, 0], 1, 1),  # its own label is among the tied
        ([5, 5, 0, 0, 0, 0, 0, 0, 0, 0], 6, 0),  # it is not: the first
        ([0, 0, 5, 0, 0, 0, 0, 0, 5, 0], 0, 2),  # an expression wins against unknown
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 0, -1),  # no votes at all
    ],
)
def test_ties(votes, own, label):
    assert judge(np.array([votes]), np.array([own])).labels.tolist() == [label]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "each of 6 faces, but .* has 5"),
        (lambda lines: [*lines, lines[-1]], "each of 6 faces, but .* has 7"),
        (lambda lines: [lines[0].replace("NF", "XX"), *lines[1:]], "has no column nf"),
        (lambda lines: lines[:1], "has no rows"),
        (lambda lines: [lines[0], lines[1].replace(",4", ",four"), *lines[2:]], "'four' in row 1"),
        (lambda lines: [lines[0], lines[1].replace(",4", ",-4"), *lines[2:]], "'-4' in row 1"),
        (lambda lines: [*lines[:2], "PublicTest,x", *lines[3:]], "expected 12 columns, but got 2"),
        (lambda lines: [*lines[:2], lines[2].replace("Public", "X"), *lines[3:]], "'XTest' in row"),
        (lambda lines: [lines[0], *lines[:0:-1]], "differ in row 1"),
    ],
)
def test_votes_that_do_not_fit(files, change, message):
    faces, votes = files
    votes.write_text("\n".join(change([HEADER, *VOTES])))
    with pytest.raises(UserError, match=message):
        read(faces, ferplus=votes)


def test_options_that_need_votes(files):
    faces, votes = files
    with pytest.raises(UserError, match="ferplus is not given"):
        read(faces, soft_labels=True)
    with pytest.raises(UserError, match="ferplus is not given"):
        read(faces, min_agreement=0.5)
    with pytest.raises(UserError, match="something readable"):
        read(faces, ferplus=votes.parent / "missing.csv")


def test_votes_are_no_data_set(files):
    with pytest.raises(UserError, match="begins with 'Usage,Image name"):
        read(files[1])
