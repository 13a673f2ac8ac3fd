"""Module names of before go on working, with one sentence that tells the new name."""

import importlib
import subprocess
import sys
import warnings

import pytest
import yaml

from fer_lightning.moved import MOVED

EXPORTED = {  # what packages of before offered
    "attribution": "NoAttentionError attention_relevance attention_rollout cls_attention "
    "draw_overlay frozen_eval Cam grad_cam is_zero match_resolution to_heat Box Contour find_boxes "
    "find_contours integrated_gradients occlusion_map centre position_similarity smooth_grad",
    "metrics": "BackgroundShare background_share classification_metrics ece_floor "
    "embedding_quality tsne LocalFocusRatio local_focus_ratio LocalSensitivityIndex "
    "local_sensitivity_index region_overlap MaskAUC mask_auc MassRatio mass_ratio "
    "PerSampleMetric PointingGame pointing_game summarise summarise_ratio",
    "controls": "measure summarise_regions null_maps Occlusion occlusion randomisation Source "
    "focus_table map_sources tabulate untrained_twin",
    "callbacks": "AttentionCallback ConfusionCallback EmbeddingCallback FocusCallback "
    "GradCAMCallback KeptTokensCallback PoolingSchedule WeightingCallback",
    "callbacks.grad_cam": "GradCAMCallback",
    "callbacks.look": "Scene Look Probe",
    "callbacks.early_stopping": "FairEarlyStopping",
    "lit.module": "Classifier",
    "lit.checkpoint": "load_net read_checkpoint",
    "lit.transfer": "Transfer",
    "lit.losses": "AdaptiveWeighting AttentionRegulariser Objective Weighed",
    "lit.losses.attention_regulariser": "AttentionRegulariser",
    "metrics.lfr": "LocalFocusRatio local_focus_ratio",
    "attribution.grad_cam": "Cam grad_cam",
    "models.vit_tiny": "ViTTiny",
    "models.apvit_112": "APViT112",
    "data.options": "Files Drawn",
    "data.manifest": "read_manifest to_manifest",
    "data.region_masks": "region_masks",
}
OLD_CONFIG = {
    "model": {
        "net": {
            "class_path": "fer_lightning.models.vit_tiny.ViTTiny",
            "init_args": {"dim": 16, "depth": 1, "heads": 2, "patch_size": 8},
        },
        "regulariser": {
            "class_path": "fer_lightning.lit.losses.attention_regulariser.AttentionRegulariser",
        },
    },
    "trainer": {
        "max_epochs": 1,
        "accelerator": "cpu",
        "callbacks": [
            {
                "class_path": "fer_lightning.callbacks.confusion.ConfusionCallback",
                "init_args": {"every_n_epochs": 2},
            },
            {"class_path": "fer_lightning.callbacks.grad_cam.GradCAMCallback"},
        ],
    },
    "data": {"source": "drawn", "drawn": {"size": 70, "image_size": 32}},
}


def fresh(code):
    command = [sys.executable, "-W", "always", "-c", code]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("module", MOVED)
def test_every_module_of_before_is_one_of_today(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert importlib.import_module(f"fer_lightning.{module}").places[0] == MOVED[module]
    importlib.import_module(f"fer_lightning.{MOVED[module]}")


@pytest.mark.parametrize("module", EXPORTED)
def test_names_of_before(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found = importlib.import_module(f"fer_lightning.{module}")
        for name in EXPORTED[module].split():
            value = getattr(found, name)
            assert callable(value), name
            assert value.__module__ in sys.modules
            assert value.__module__.startswith("fer_lightning.")


def test_the_class_is_the_same_and_one_sentence_says_where():
    code = (
        "from fer_lightning.lit.module import Classifier as old\n"
        "from fer_lightning.lit.module import Classifier as again\n"
        "from fer_lightning.training.module import Classifier\n"
        "assert old is again is Classifier\n"
    )
    done = fresh(code)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "FutureWarning" in line]
    assert len(said) == 2  # one for the package, one for the module
    assert said[1].endswith(
        "FutureWarning: fer_lightning.lit.module is now fer_lightning.training.module"
    )
    assert said[1].startswith("<string>:1")  # the user's own line


def test_a_function_stays_one_beside_the_module_of_its_name():
    code = (
        "from fer_lightning.attribution.grad_cam import Cam\n"
        "from fer_lightning.attribution import grad_cam\n"
        "import fer_lightning.look.methods.grad_cam as now\n"
        "assert grad_cam is now.grad_cam and Cam is now.Cam\n"
    )
    done = fresh(code)
    assert done.returncode == 0, done.stderr


def test_what_never_was_is_not_found():
    for name in ("fer_lightning.lit.nothing", "fer_lightning.nothing"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from fer_lightning.lit.module import nothing  # noqa: F401


def test_new_names_say_nothing():
    done = fresh("import fer_lightning.callbacks, fer_lightning.training.module")
    assert "FutureWarning: fer_lightning" not in done.stderr


@pytest.mark.slow
def test_a_config_with_class_paths_of_before_fits(tmp_path):
    (tmp_path / "old.yaml").write_text(yaml.safe_dump(OLD_CONFIG))
    command = [sys.executable, "-m", "fer_lightning.cli", "fit", "--config", "old.yaml"]
    options = ["--report=false", "--wandb.mode=disabled", "--trainer.enable_progress_bar=false"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert (folder / "gradcam" / "test.png").is_file()
    assert (folder / "confusion" / "test.png").is_file()
    told = "fer_lightning.callbacks.confusion is now fer_lightning.look.callbacks.confusion"
    assert done.stderr.count(told) == 1
