"""Taking a machine out of texts that are shared: its paths and its name."""

import re
import shlex
import socket
from collections.abc import Mapping
from typing import Any

# An absolute path of two parts or more, on any system; addresses such as https://a/b are none.
PATHS = re.compile(r"(?<![\w:/.])(?:[A-Za-z]:\\|/|~/)(?:[^/\\\s'\"=,]+[/\\])+([^/\\\s'\"=,]*)")
ABSOLUTE = re.compile(r"[A-Za-z]:\\|/|~/")


def scrub(value: Any) -> Any:
    """Reduce machine paths in any text to file names, and leave out the machine's name.

    >>> scrub({"command": "fit --config /home/me/vit.yaml --data.data_dir=/data/fer/fer2013.zip"})
    {'command': 'fit --config vit.yaml --data.data_dir=fer2013.zip'}
    """
    if isinstance(value, Mapping):
        return {k: _scrub_command(v) if k == "command" else scrub(v) for k, v in value.items()}
    if isinstance(value, list):
        return [scrub(one) for one in value]
    if not isinstance(value, str):
        return value
    host = socket.gethostname()
    text = value.replace(host, "host") if len(host) > 5 and host != "localhost" else value
    if ABSOLUTE.match(text) and "--" not in text:  # a path and nothing else, perhaps with blanks
        return re.split(r"[/\\]", text.rstrip("/\\"))[-1]
    return PATHS.sub(r"\1", text)


def _scrub_command(command: Any) -> Any:
    """Scrub a command line word by word, because a quoted path may hold blanks."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # quotes that do not close
        return scrub(command)
    pairs = [word.rpartition("=") for word in words]
    return shlex.join(f"{option}{equals}{scrub(text)}" for option, equals, text in pairs)
