"""Text such as ``70 80 255`` to uint8 numbers, a whole block of rows at once."""

import numpy as np
from numpy.typing import NDArray

_ZERO, _BLANK = np.uint8(ord("0")), np.uint8(ord(" "))


def parse_numbers(text: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.intp]] | None:
    """Read all numbers of a text of digits and blanks.

    Every byte is first taken as if a number ended there: its digit, plus ten times the digit
    before, plus a hundred times the one before that. Then the real ends are picked. That needs
    about ten passes of byte arithmetic and no loop over numbers.

    Args:
        text: (L,) uint8 characters.

    Returns:
        values: (n,) uint8.
        ends: (n,) index of each number's last digit in the text.
        None when the text holds anything but digits and blanks, a number above 255 or one of more
        than three digits: then a slower and more patient reader must look.

    >>> parse_numbers(np.frombuffer(b"7 0 255", np.uint8))
    (array([  7,   0, 255], dtype=uint8), array([0, 2, 6]))
    >>> parse_numbers(np.frombuffer(b"7 256", np.uint8)) is None
    True
    """
    digit = text - _ZERO  # blanks wrap to 240
    is_digit = digit < 10
    if not (is_digit | (text == _BLANK)).all():
        return None
    as_one = is_digit.view(np.uint8)
    digit *= as_one
    three = is_digit[2:] & is_digit[1:-1] & is_digit[:-2]
    if (three[1:] & three[:-1]).any():  # four digits in a row
        return None

    low = digit.copy()  # two last digits of the number that ends here
    low[1:] += digit[:-1] * np.uint8(10)
    high = np.zeros_like(digit)  # hundreds; 0 if the digit before this one is a blank
    np.multiply(digit[:-2], as_one[1:-1], out=high[2:])

    is_end = is_digit.copy()
    np.greater(is_digit[:-1], is_digit[1:], out=is_end[:-1])
    ends = np.flatnonzero(is_end)
    tail, hundreds = low[ends], high[ends]
    if ((hundreds > 2) | ((hundreds == 2) & (tail > 55))).any():
        return None
    tail += hundreds * np.uint8(100)
    return tail, ends
