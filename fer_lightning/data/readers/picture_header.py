"""Width and height of a picture from its first bytes, before anything is decoded."""

import struct

# JPEG start-of-frame markers: C0..CF without DHT (C4), JPG (C8) and DAC (CC)
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SOS, _EOI = 0xDA, b"\xff\xd9"


def picture_size(data: bytes) -> tuple[int, int] | None:
    r"""Return (height, width) of a JPEG, PNG, BMP, PNM or TIFF file.

    Returns None when it is none of these or ends before its picture does: OpenCV would fill the
    missing part of a cut-off JPEG with grey and say nothing.

    >>> picture_size(b"P5 640 480 255\n")
    (480, 640)
    >>> picture_size(b"GIF89a") is None
    True
    """
    try:
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack(">II", data[16:24])
            return (height, width) if b"IEND" in data[-64:] else None
        if data.startswith(b"BM"):
            width, height = struct.unpack("<ii", data[18:26])
            return abs(height), width  # a negative height means: from top to bottom
        if data[:1] == b"P" and data[1:2] in b"123456":
            return _pnm(data)
        if data[:4] in (b"II*\0", b"MM\0*"):
            return _tiff(data)
    except struct.error:  # the file ends inside its header
        return None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    size, position = None, 2
    while True:
        while data[position + 1 : position + 2] == b"\xff":  # markers may be padded
            position += 1
        ff, marker, length = struct.unpack(">BBH", data[position : position + 4])
        if ff != 0xFF or length < 2:
            return None
        if marker in _SOF:
            size = struct.unpack(">HH", data[position + 5 : position + 9])
        if marker == _SOS:
            # inside the compressed data FF is always followed by 00 or a restart marker
            return size if data.find(_EOI, position) >= 0 else None
        position += 2 + length


def _pnm(data: bytes) -> tuple[int, int] | None:
    lines = (line.split(b"#", 1)[0] for line in data[2:1024].split(b"\n"))
    words = b" ".join(lines).split()[:2]
    if len(words) < 2 or not all(word.isdigit() and len(word) < 10 for word in words):
        return None
    return int(words[1]), int(words[0])


def _tiff(data: bytes) -> tuple[int, int] | None:
    order = "<" if data[:2] == b"II" else ">"
    (directory,) = struct.unpack(order + "I", data[4:8])
    (count,) = struct.unpack(order + "H", data[directory : directory + 2])
    found = {}
    for entry in range(directory + 2, directory + 2 + 12 * count, 12):
        tag, kind = struct.unpack(order + "HH", data[entry : entry + 4])
        if tag in (256, 257):  # width, height; 16 or 32 bits, left-aligned
            form = "H" if kind == 3 else "I"
            (found[tag],) = struct.unpack_from(order + form, data, entry + 8)
    return (found[257], found[256]) if len(found) == 2 else None
