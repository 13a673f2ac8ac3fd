"""Whatever the bytes are, the readers return an ImageSet or raise a UserError."""

import gzip

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reader_samples import csv_text, encode, faces, fer_members, tar_bytes, zip_bytes

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.readers import read
from fer_lightning.data.readers.pictures import BadPictureError, decode
from fer_lightning.errors import UserError

FUZZ = settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
CSV = csv_text(3).encode()
FEW = {name: data for name, data in fer_members().items() if "sad" in name or "fear" in name}
ARCHIVES = [
    zip_bytes(FEW),
    tar_bytes(FEW),
    tar_bytes({"fer2013.csv": CSV}, "w:gz"),
    zip_bytes({"fer2013.csv": CSV}),
    gzip.compress(CSV),
]
PICTURES = [encode(faces(1)[0], ending) for ending in (".jpg", ".png", ".bmp", ".pgm", ".tiff")]


@st.composite
def mutations(draw, sources):
    """Return one of the sources with a few bytes changed, put in, taken out or cut off."""
    data = bytearray(draw(st.sampled_from(sources)))
    for _ in range(draw(st.integers(1, 4))):
        # headers and ends of archives are where the interesting bytes are
        place = draw(
            st.one_of(
                st.integers(0, min(len(data), 600)),
                st.integers(max(0, len(data) - 600), len(data)),
                st.integers(0, len(data)),
            )
        )
        kind = draw(st.sampled_from(["change", "insert", "delete", "cut"]))
        if kind == "change":
            new = draw(st.binary(min_size=1, max_size=4))
            data[place : place + len(new)] = new
        elif kind == "insert":
            data[place:place] = draw(st.sampled_from([b"\n", b",", b" ", b"\0", b"999", b"\xff"]))
        elif kind == "delete":
            del data[place : place + draw(st.integers(1, 20))]
        else:
            del data[place:]
    return bytes(data)


def check(tmp_path, data):
    path = tmp_path / "fuzzed"
    path.write_bytes(data)
    for mode in ("error", "skip"):
        try:
            found = read(path, on_corrupt=mode)
        except UserError:
            continue
        assert isinstance(found, ImageSet)
        assert len(found.images) == len(found.labels) == len(found.files) > 0
        assert 0 <= found.labels.min() <= found.labels.max() < len(found.classes)


@FUZZ
@given(st.binary(max_size=600))
@example(b"PK\x05\x06")
@example(b"\x1f\x8b")
@example(b"emotion,pixels\n\xff\xff,\x00\n")
def test_any_bytes(tmp_path, data):
    check(tmp_path, data)


@FUZZ
@given(st.binary(max_size=300).map(lambda data: b"emotion,pixels,Usage\n0,1 2," + data))
def test_any_bytes_after_a_header(tmp_path, data):
    check(tmp_path, data)


@FUZZ
@given(mutations([CSV, CSV.replace(b"\n", b"\r\n")]))
def test_damaged_csv(tmp_path, data):
    check(tmp_path, data)


@FUZZ
@given(mutations(ARCHIVES))
def test_damaged_archives(tmp_path, data):
    check(tmp_path, data)


@FUZZ
@given(mutations([b"a/1.png 1\na/2.png 2\n", b"path,label\na/1.png,x\n"]))
def test_damaged_lists(tmp_path, data):
    for name in ("1.png", "2.png"):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / name).write_bytes(PICTURES[1])
    check(tmp_path, data)


@FUZZ
@given(mutations(PICTURES))
def test_damaged_pictures(data):
    try:
        picture = decode(data)
    except BadPictureError:
        return
    assert picture.dtype.name == "uint8"
    assert picture.ndim in (2, 3)


@pytest.mark.slow
@settings(FUZZ, max_examples=20_000)
@given(mutations([*ARCHIVES, CSV]))
def test_damaged_archives_at_length(tmp_path, data):
    check(tmp_path, data)
