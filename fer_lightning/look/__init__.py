"""Where a model looks: methods, metrics and controls, which know no face.

``fer_lightning.look`` is this package and, called, the function of the public API: Python puts a
package in place of whatever else has its name.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `fer_lightning.api.look.look`, which stands above this package."""
        return import_module("fer_lightning.api.look").look(*args, **kwargs)

    @property
    def __wrapped__(self) -> Any:
        """Let ``help`` and ``inspect.signature`` show the function."""
        return import_module("fer_lightning.api.look").look


sys.modules[__name__].__class__ = _Callable
