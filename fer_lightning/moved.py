"""Module names of before: they go on working, with one sentence that tells the new name.

A finder at the end of Python's list is asked for modules that nobody else knows, and gives one
that looks its names up where they are now. Users' configs, sweeps and notebooks name these.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = "fer_lightning."
MOVED = {  # name of before: where it is now
    "attribution": "look",
    "attribution.attention": "look.methods.attention",
    "attribution.contours": "look.overlay",
    "attribution.frozen": "look.frozen",
    "attribution.grad_cam": "look.methods.grad_cam",
    "attribution.heat": "look.heat",
    "attribution.hot_spots": "look.overlay",
    "attribution.integrated_gradients": "look.methods.integrated_gradients",
    "attribution.occlusion_map": "look.methods.occlusion",
    "attribution.pixels": "look.frozen",
    "attribution.positions": "look.methods.attention",
    "attribution.smooth_grad": "look.methods.smooth_grad",
    "attribution.target": "look.frozen",
    "callbacks.alarm": "training.callbacks.early_stopping",
    "callbacks.attention": "look.callbacks.attention",
    "callbacks.confusion": "look.callbacks.confusion",
    "callbacks.early_stopping": "training.callbacks.early_stopping",
    "callbacks.embedding": "look.callbacks.embedding",
    "callbacks.epoch_seed": "training.callbacks.epoch_seed",
    "callbacks.focus": "look.callbacks.focus",
    "callbacks.grad_cam": "look.callbacks.grad_cam",
    "callbacks.kept_tokens": "look.callbacks.kept_tokens",
    "callbacks.look": "look.callbacks.look",
    "callbacks.pooling_schedule": "training.callbacks.pooling_schedule",
    "callbacks.progress": "training.callbacks.progress",
    "callbacks.recorder": "training.callbacks.recorder",
    "callbacks.typed": "training.callbacks.typed",
    "callbacks.weighting": "look.callbacks.weighting",
    "controls": "look.controls",
    "controls.correlation": "look.metrics.summary",
    "controls.explainers": "look.methods",
    "controls.focus": "look.focus",
    "controls.masks": "look.controls.masks",
    "controls.matching": "look.heat",
    "controls.measure": "look.measure",
    "controls.null_maps": "look.controls.null_maps",
    "controls.occlusion": "look.controls.hiding",
    "controls.patches": "look.controls.hiding",
    "controls.randomisation": "look.controls.randomisation",
    "controls.report": "look.tables",
    "controls.table": "look.focus",
    "controls.twins": "look.controls.null_maps",
    "data.cache_entry": "data.cache",
    "data.manifest": "data.splits",
    "data.options": "data.datamodule",
    "data.outlines": "data.regions",
    "data.region_masks": "data.masks",
    "lit": "training",
    "lit.checkpoint": "training.checkpoint",
    "lit.logged": "training.module",
    "lit.losses": "training.losses",
    "lit.losses.adaptive_weighting": "training.losses.adaptive_weighting",
    "lit.losses.attention_regulariser": "training.losses.attention_regulariser",
    "lit.losses.guided_maps": "training.losses.attention_regulariser",
    "lit.losses.objective": "training.losses.objective",
    "lit.module": "training.module",
    "lit.optimizers": "training.optimizers",
    "lit.predictions": "training.predictions",
    "lit.transfer": "training.transfer",
    "metrics": "look.metrics",
    "metrics.background": "look.metrics.shares",
    "metrics.classification": "training.predictions",
    "metrics.embedding": "look.embedding",
    "metrics.lfr": "look.metrics.lfr",
    "metrics.lsi": "look.metrics.lsi",
    "metrics.maps": "look.metrics.summary",
    "metrics.mask_auc": "look.metrics.mask_auc",
    "metrics.mass": "look.metrics.shares",
    "metrics.per_sample": "look.metrics.summary",
    "metrics.pointing": "look.metrics.pointing",
    "metrics.summary": "look.metrics.summary",
    "models.adapt": "models.weights",
    "models.apvit_112": "models.apvit",
    "models.checks": "models.layers.checks",
    "models.explicit": "models.timm_backbone",
    "models.ir50": "models.apvit",
    "models.latency": "models.cost",
    "models.layer_order": "models.layers.timm_layout",
    "models.layout": "models.layers.timm_layout",
    "models.patch_pooling": "models.layers.pooling",
    "models.patch_transformer": "models.layers.patch_transformer",
    "models.places": "models.layers.pooling",
    "models.pooling": "models.layers.pooling",
    "models.pretrained": "models.weights",
    "models.stems": "models.layers.transformer",
    "models.timm_create": "models.timm_backbone",
    "models.timm_pooling": "models.timm_backbone",
    "models.token_pooling": "models.layers.pooling",
    "models.transformer": "models.layers.transformer",
    "models.vit_tiny": "models.vit",
    "models.waking": "look.controls.null_maps",
}
ALSO = {  # where else the names lie that a package of before exported
    "attribution": (
        "look.methods.attention",
        "look.methods.grad_cam",
        "look.methods.integrated_gradients",
        "look.methods.occlusion",
        "look.methods.smooth_grad",
        "look.frozen",
        "look.heat",
        "look.overlay",
    ),
    "metrics": ("training.predictions", "look.embedding"),
    "controls": (
        "look.controls.hiding",
        "look.controls.null_maps",
        "look.controls.randomisation",
        "look.focus",
        "look.measure",
    ),
}
RENAMED = {  # (module of before, name of before): name now
    ("callbacks.look", "Scene"): "LookContext",
    ("controls", "Occlusion"): "Hiding",
    ("controls", "occlusion"): "hide_regions",
    ("controls.occlusion", "Occlusion"): "Hiding",
    ("controls.occlusion", "occlusion"): "hide_regions",
    ("controls.report", "occlusion_view"): "hiding_view",
}
CHANGED = {"controls": "; its functions now take the data's regions"}


class Moved(ModuleType):
    """A module of before, which has the names of those that are there now."""

    places: tuple[str, ...] = ()  # modules, the first one first

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        before = self.__name__.removeprefix(PACKAGE)
        wanted = RENAMED.get((before, name), name)
        for place in self.places:
            found = getattr(import_module(PACKAGE + place), wanted, None)
            if found is not None and not _is_our_module(found):
                return found
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep a function where Python would put the sub-module of the same name in its place."""
        if isinstance(value, Moved) and _has(self, name):
            return
        super().__setattr__(name, value)


def _is_our_module(value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__.startswith(PACKAGE)


def _has(module: Moved, name: str) -> bool:
    try:
        module.__getattr__(name)
    except AttributeError:
        return False
    return True


class MovedModules(MetaPathFinder, Loader):
    """Finds and makes modules of before."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Know the names in MOVED and no others."""
        name = fullname.removeprefix(PACKAGE)
        if name == fullname or name not in MOVED:
            return None
        inner = any(other.startswith(f"{name}.") for other in MOVED)
        return ModuleSpec(fullname, self, is_package=inner)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make an empty module; its names are looked up when they are asked for."""
        return Moved(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Say once where it is now."""
        name = module.__name__.removeprefix(PACKAGE)
        assert isinstance(module, Moved)
        module.places = (MOVED[name], *ALSO.get(name, ()))
        changed = CHANGED.get(name.split(".")[0], "")
        text = f"{module.__name__} is now {PACKAGE}{MOVED[name]}{changed}"
        warnings.warn(text, FutureWarning, stacklevel=2)


def install() -> None:
    """Add the finder, once, behind all others."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
