"""The seven expressions of FER-2013, their order, and the other names people give them."""

from collections.abc import Sequence

FER_CLASSES = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")
MOST_NAMED = 20  # classes that a picture or a table names, however many there are
FERPLUS_CLASSES = (*FER_CLASSES, "contempt")

ALIASES = {
    "anger": "angry",
    "disgusted": "disgust",
    "fearful": "fear",
    "afraid": "fear",
    "happiness": "happy",
    "joy": "happy",
    "sadness": "sad",
    "surprised": "surprise",
    "normal": "neutral",
}


def canonical(name: str) -> str:
    """Return our name of an expression for any of its usual spellings.

    >>> canonical(" Happiness"), canonical("neutral"), canonical("truck")
    ('happy', 'neutral', 'truck')
    """
    name = name.strip().lower()
    return ALIASES.get(name, name)


def some_names(names: Sequence[str]) -> str:
    """Name up to `MOST_NAMED` classes.

    >>> some_names(["cat", "dog"]), some_names([str(i) for i in range(100)])[-18:]
    ('cat, dog', '18, 19 and 80 more')
    """
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
