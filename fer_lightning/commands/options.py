"""The parser that commands share: a mistake is one sentence, as everywhere."""

import argparse
from typing import NoReturn

from fer_lightning.errors import visible

REQUIRED = "the following arguments are required: "


class Options(argparse.ArgumentParser):
    """Argparse's, whose mistakes come without the block of options.

    >>> Options(prog="fer-lightning faces").sentence(f"{REQUIRED}--out")
    'expected --out but got none; see fer-lightning faces --help'
    """

    def error(self, message: str) -> NoReturn:
        """Tell a mistake and end with code 2."""
        self.exit(2, f"error: {visible(self.sentence(message))}\n")

    def sentence(self, message: str) -> str:
        """Return one of argparse's messages as a sentence that says where to look."""
        missing = message.removeprefix(REQUIRED)
        said = message if missing == message else f"expected {missing} but got none"
        return f"{said}; see {self.prog} --help"
