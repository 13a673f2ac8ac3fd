"""Checks of constructor arguments, so that a mistake is reported before anything is built."""

from collections.abc import Sequence

from fer_lightning.errors import UserError

MOST = 1_000_000  # a bound on what a damaged checkpoint may ask for


def check_sizes(least: int = 1, most: int = MOST, **sizes: int) -> None:
    """Refuse what is no whole number or out of bounds.

    >>> check_sizes(num_classes=0)
    Traceback (most recent call last):
    ...
    fer_lightning.errors.UserError: expected num_classes of at least 1 but got 0; raise it
    """
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool):
            raise UserError(f"expected {name} to be a whole number but got {size!r:.40}")
        if size < least:
            raise UserError(f"expected {name} of at least {least} but got {size}; raise it")
        if size > most:
            raise UserError(f"expected {name} of at most {most} but got {size}; lower it")


def check_rates(**rates: float) -> None:
    """Refuse a probability outside [0, 1)."""
    for name, rate in rates.items():
        if not isinstance(rate, int | float) or not 0 <= rate < 1:
            raise UserError(f"expected {name} in [0, 1) but got {rate!r:.40}")


def check_widths(widths: Sequence[int], count: int) -> None:
    """Refuse anything but the widths of so many convolutions."""
    if len(widths) != count:
        raise UserError(f"expected widths of {count} convolutions but got {widths}")
    for width in widths:
        check_sizes(widths=width)


def check_stem(image_size: int, stride: int) -> int:
    """Return the side of the grid that a stem makes of images."""
    check_sizes(image_size=image_size)
    if image_size % stride:
        raise UserError(
            f"expected image_size divisible by {stride}, the stem's stride, but got {image_size}; "
            f"resize to {max(round(image_size / stride), 1) * stride}"
        )
    return image_size // stride
