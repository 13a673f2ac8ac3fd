"""Why does one vision architecture beat another on facial expressions, and can you trust it?

>>> import fer_lightning as fl
>>> data = fl.drawn_faces(40, image_size=32)
>>> model = fl.create_model("cnn", **data.sizes)
>>> fl.look(model, data.test[:3], methods=["grad_cam"]).methods
['grad_cam']

Nothing heavy is imported before one of the names below is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fer_lightning.moved import install

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fer_lightning.api.data import drawn_defects, drawn_faces, load_data
    from fer_lightning.api.look import Looked, look
    from fer_lightning.api.runs import Run, Study, load_run, load_study
    from fer_lightning.api.train import train
    from fer_lightning.data.face_mesh import find_landmarks as landmarks
    from fer_lightning.look.methods import list_methods
    from fer_lightning.look.methods import method as register_method
    from fer_lightning.look.methods.captum import captum_method
    from fer_lightning.models import VisionModel, create_model, list_models, register_model

_PLACES = {  # name: its module, and its name there
    "drawn_defects": ("fer_lightning.api.data", "drawn_defects"),
    "drawn_faces": ("fer_lightning.api.data", "drawn_faces"),
    "load_data": ("fer_lightning.api.data", "load_data"),
    "VisionModel": ("fer_lightning.models", "VisionModel"),
    "create_model": ("fer_lightning.models", "create_model"),
    "list_models": ("fer_lightning.models", "list_models"),
    "register_model": ("fer_lightning.models", "register_model"),
    "captum_method": ("fer_lightning.look.methods.captum", "captum_method"),
    "list_methods": ("fer_lightning.look.methods", "list_methods"),
    "register_method": ("fer_lightning.look.methods", "method"),
    "landmarks": ("fer_lightning.data.face_mesh", "find_landmarks"),
    "train": ("fer_lightning.api.train", "train"),
    "look": ("fer_lightning.look", ""),  # the package itself can be called
    "Looked": ("fer_lightning.api.look", "Looked"),
    "Run": ("fer_lightning.api.runs", "Run"),
    "load_run": ("fer_lightning.api.runs", "load_run"),
    "Study": ("fer_lightning.api.runs", "Study"),
    "load_study": ("fer_lightning.api.runs", "load_study"),
}

__all__ = [
    "Looked",
    "Run",
    "Study",
    "VisionModel",
    "__version__",
    "captum_method",
    "create_model",
    "drawn_defects",
    "drawn_faces",
    "landmarks",
    "list_methods",
    "list_models",
    "load_data",
    "load_run",
    "load_study",
    "look",
    "register_method",
    "register_model",
    "train",
]


install()


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in _PLACES:
        raise AttributeError(f"module 'fer_lightning' has no attribute '{name}'")
    module, attribute = _PLACES[name]
    found = import_module(module)
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
