"""How much a file may ask of the machine: every reader stays within these bounds."""

MIB = 2**20
GIB = 2**30

MAX_MEMBERS = 2_000_000  # files in an archive or folder; ImageNet has 1,281,167 for training
MAX_UNPACKED = 8 * GIB  # bytes an archive may unpack to
MAX_RATIO = 100  # unpacked bytes per packed byte; JPEG is near 1, fer2013.csv near 4
FREE_UNPACKED = 256 * MIB  # below this the ratio does not matter
MAX_TAR_HEADER = MIB  # bytes of a tar member's extended header
MAX_IMAGE_FILE = 64 * MIB  # bytes of one picture's file
MAX_PIXELS = 50_000_000  # width x height of one picture
MAX_IN_MEMORY = 16 * GIB  # bytes of all decoded pictures together, where no cache can be written
MAX_ROW = 1 * MIB  # bytes of one CSV row; a row of FER-2013 has at most 9.3 kB
MAX_LIST_FILE = 256 * MIB  # bytes of a list of paths and labels
HEAD = 4096  # bytes looked at to tell what a file is
MAX_SNIFFED = 1_000  # files other than pictures that are looked into


def unpacked_limit(packed: int) -> int:
    """Return how many bytes an archive of `packed` bytes may unpack to.

    >>> unpacked_limit(10 * MIB) == 1000 * MIB, unpacked_limit(1) == FREE_UNPACKED
    (True, True)
    """
    return min(MAX_UNPACKED, max(FREE_UNPACKED, MAX_RATIO * packed))
