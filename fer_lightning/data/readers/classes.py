"""From the labels a source writes to class names in a fixed order."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.labels import FER_CLASSES, FERPLUS_CLASSES, canonical
from fer_lightning.errors import UserError

_KNOWN_ORDERS = {frozenset(order): order for order in (FER_CLASSES, FERPLUS_CLASSES)}


def number_classes(
    labels: Sequence[str], class_names: Mapping[str, str] | None = None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Give every label a class index.

    The expressions keep FER-2013's order (with contempt as the eighth, FERPlus' one); any other
    classes are sorted, numbers by their value.

    Args:
        labels: (N) folder names or the labels of a list file.
        class_names: what some of them mean, e.g. ``{"1": "surprise", "2": "fear"}``.

    Returns:
        (N,) int64 indices and the class names.

    >>> number_classes(["2", "1", "2"], {"1": "cat", "2": "ant"})
    (array([0, 1, 0]), ('ant', 'cat'))
    >>> number_classes(["10", "9"])
    (array([1, 0]), ('9', '10'))
    """
    written = set(labels)
    if class_names is not None:
        _check_map(written, class_names)
    meaning = {label: canonical((class_names or {}).get(label, label)) for label in written}
    found = frozenset(meaning.values())
    classes = _KNOWN_ORDERS.get(found) or tuple(sorted(found, key=_by_value))
    if len(classes) < 2:
        raise UserError(
            f"expected at least two classes, but got only {', '.join(classes)}; check class_names"
        )
    index = {label: classes.index(name) for label, name in meaning.items()}
    return np.array([index[label] for label in labels], np.int64), classes


def _by_value(name: str) -> tuple[bool, int, str]:
    is_number = name.isascii() and name.isdigit() and len(name) < 10
    return not is_number, int(name) if is_number else 0, name


def _check_map(written: set[str], class_names: Mapping[str, str]) -> None:
    shown = ", ".join(sorted(written, key=_by_value)[:10])
    if not written & set(class_names):
        raise UserError(
            f"expected class_names to rename some of the labels {shown}, but it names only "
            f"{', '.join(class_names)}; write its keys as the source does"
        )
    unnamed = [label for label in written - set(class_names) if label.isdigit()]
    if unnamed:
        raise UserError(
            f"expected class_names to name every number, but {min(unnamed, key=_by_value)} is "
            f"missing (labels: {shown}); add it"
        )
