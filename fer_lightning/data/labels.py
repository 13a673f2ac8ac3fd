"""The seven expressions of FER-2013, their order, and the other names people give them."""

FER_CLASSES = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")
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
