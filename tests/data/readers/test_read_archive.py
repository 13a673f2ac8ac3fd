import gzip
import io
import struct
import tarfile
import zipfile

import pytest
from reader_samples import csv_text, fer_members, tar_bytes, zip_bytes

from fer_lightning.data.readers import limits, read
from fer_lightning.errors import UserError

GIB = 2**30


@pytest.fixture
def refused(tmp_path):
    """Return a check that an archive of these bytes is refused with a message."""

    def check(data, message):
        path = tmp_path / "archive"
        path.write_bytes(data)
        with pytest.raises(UserError, match=message):
            read(path)

    return check


@pytest.mark.parametrize("name", ["../x.csv", "a/../../x.csv", "/etc/x.csv", "C:/x.csv", "..\\x"])
@pytest.mark.parametrize("pack", [zip_bytes, tar_bytes], ids=["zip", "tar"])
def test_members_that_point_outside(refused, name, pack):
    refused(pack(fer_members() | {name: b"x"}), "points outside")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_a_tar(refused, kind):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("train/sad/1.jpg")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    refused(buffer.getvalue(), "a link or a device")


def test_links_in_a_zip(refused):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("train/sad/1.jpg")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    refused(buffer.getvalue(), "a link or a device")


def test_a_zip_that_declares_ten_gigabytes(refused):
    data = bytearray(zip_bytes({"fer2013.csv": b"emotion,pixels\n" + bytes(1000)}))
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", 4 * GIB - 2)  # its size once unpacked
    refused(bytes(data), "unpacks to at most 256 MiB")


def test_a_zip_with_more_in_it_than_it_declares(refused):
    data = bytearray(zip_bytes({"fer2013.csv": csv_text(3).encode()}))
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", 40)
    refused(bytes(data), "row 1|damaged")


def test_a_tar_that_declares_ten_gigabytes(refused):
    info = tarfile.TarInfo("fer2013.csv")
    info.size = 10 * GIB
    refused(gzip.compress(info.tobuf() + bytes(1024)), "unpacks to at most 256 MiB")


def test_a_gzip_that_delivers_more_than_it_may(refused, monkeypatch):
    monkeypatch.setattr(limits, "FREE_UNPACKED", 2**20)
    monkeypatch.setattr(limits, "MAX_RATIO", 10)
    header, line = csv_text(1).splitlines(keepends=True)
    refused(gzip.compress((header + line * 1000).encode()), "unpacks to at most 1 MiB")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_tar_header_of_many_bytes_is_not_taken_into_memory(refused, kind):
    info = tarfile.TarInfo("header")
    info.type, info.size = kind, 2**23
    refused(info.tobuf() + bytes(2**23 + 1024), "header of 8,388,608 bytes")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_thousand_headers_in_a_row(refused, kind):
    content = b"12 path=a.csv" if kind == tarfile.XHDTYPE else b"a.csv"
    info = tarfile.TarInfo("header")
    info.type, info.size = kind, len(content)
    refused((info.tobuf() + content.ljust(512, b"\0")) * 2000, "damaged or cut off")


def test_too_many_members(refused, monkeypatch):
    monkeypatch.setattr(limits, "MAX_MEMBERS", 10)
    for pack in (zip_bytes, tar_bytes):
        refused(pack(fer_members()), "at most 10 files")


def test_an_archive_inside_an_archive(refused):
    refused(zip_bytes({"fer2013.zip": zip_bytes(fer_members())}), "archive fer2013.zip; unpack")


def test_an_empty_archive(refused):
    refused(zip_bytes({}), "is empty")


def test_a_member_without_a_name(refused):
    data = zip_bytes({"x": b""})
    entry = data.index(b"PK\x01\x02")
    data = bytearray(data[: entry + 46] + data[entry + 47 :])  # take its name from the directory
    data[entry + 28] = 0
    data[-10:-6] = (46).to_bytes(4, "little")  # the directory's size
    refused(bytes(data), "is empty")


def test_a_password(refused):
    data = bytearray(zip_bytes(fer_members()))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    refused(bytes(data), "without password")


def test_a_rare_way_of_packing(refused):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("fer2013.csv", csv_text(1))
    refused(buffer.getvalue(), "stored or deflated")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(
    "pack", [zip_bytes, tar_bytes, lambda m: tar_bytes(m, "w:gz")], ids=["zip", "tar", "tar.gz"]
)
def test_a_cut_off_archive(refused, pack, share):
    data = pack({"fer2013.csv": csv_text(6).encode()})
    refused(data[: int(len(data) * share)], "damaged or cut off")


def test_a_changed_byte_in_a_zip_is_noticed(refused):
    data = bytearray(zip_bytes({"fer2013.csv": csv_text(3).encode()}))
    data[len(data) // 2] ^= 255
    refused(bytes(data), "damaged|row")


def test_a_sparse_member_is_refused(refused):
    info = tarfile.TarInfo("fer2013.csv")
    info.type = tarfile.GNUTYPE_SPARSE
    refused(info.tobuf() + bytes(1024), "a link or a device|damaged")


def test_of_two_members_with_one_name_the_last_counts(tmp_path):
    path = tmp_path / "twice.tar"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for n in (3, 5):
            data = csv_text(n).encode()
            info = tarfile.TarInfo("fer2013.csv")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    path.write_bytes(buffer.getvalue())
    assert len(read(path)) == 5
