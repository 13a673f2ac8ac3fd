"""A W&B workspace as code: the panels that answer this project's questions, laid out once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import wandb

from fer_lightning import keys
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.regions import FACE, Regions
from fer_lightning.errors import UserError
from fer_lightning.keys import key
from fer_lightning.tracking.wandb import check_online, has_key, one_line

if TYPE_CHECKING:
    from wandb_workspaces.workspaces import Section, Workspace

NAME = "Where models look"
SEPARATION = ("knn_features", "silhouette_features", "knn_points", "silhouette_points")
MODEL, FRACTION, LR = "run.model", "data.fraction", "model.lr"  # in a run's configuration
COMPARED = (MODEL, FRACTION, "seed_everything", LR, "model.weight_decay", "data.batch_size")
AT_WIDTH = 3  # panels side by side


def save_workspace(
    project: str,
    entity: str | None,
    regions: Regions = FACE,
    methods: Sequence[str] = (),
) -> str:
    """Save the workspace as a new view of a project and return its address.

    Args:
        project: of the runs.
        entity: user or team.
        regions: of the runs' data.
        methods: attribution methods that the runs measure beside the paper's.
    """
    if not has_key():
        raise UserError(
            "expected a W&B key but none is configured; run wandb login, or look at the runs on "
            "this machine: fer-lightning dashboard runs"
        )
    try:
        check_online(look_for_key=False)
        entity = entity or wandb.Api(timeout=30).default_entity
        if not entity:
            raise UserError("expected --entity because this W&B key has no default one")
        return str(workspace(project, entity, regions, methods).save().url)
    except ImportError as error:
        raise UserError(
            "expected the package wandb-workspaces but it is not installed; "
            "pip install wandb-workspaces"
        ) from error
    except UserError:
        raise
    except Exception as error:  # of the network and of the server there are many kinds
        raise UserError(
            f"expected W&B to save a workspace in project {project} but "
            f"{one_line(error)[:150]}; check the project, --entity and the network"
        ) from error


def workspace(
    project: str, entity: str, regions: Regions = FACE, methods: Sequence[str] = ()
) -> "Workspace":
    """Lay out the panels; nothing is sent."""
    from wandb_workspaces import workspaces as ws

    settings = ws.WorkspaceSettings(x_axis=keys.EPOCH, max_runs=50)
    shown = sections(regions, methods)
    return ws.Workspace(
        entity=entity, project=project, name=NAME, sections=shown, settings=settings
    )


def sections(regions: Regions = FACE, methods: Sequence[str] = ()) -> "list[Section]":
    """What is asked, in this order: how good, where it looks, what it mixes up, what matters."""
    from wandb_workspaces.reports import v2 as wr

    val_acc, test_acc = key("val", keys.ACC), key("test", keys.ACC)
    primary, title = regions.primary, regions.title(regions.primary)
    by_model: dict[str, Any] = {"groupby": wr.Config(MODEL)}
    return [
        _section(
            "Accuracy",
            wr.ScatterPlot(
                title="Test accuracy by fraction of the data",
                x=wr.Config(FRACTION),
                y=wr.SummaryMetric(test_acc),
                log_x=True,
            ),
            wr.BarPlot(title="Test accuracy by model", metrics=[test_acc], **by_model),
            _line("Validation accuracy", val_acc),
            _line("Training accuracy", key("train", keys.ACC)),
            _line("Validation loss", key("val", keys.LOSS)),
            _line("Training loss", key("train", keys.LOSS)),
            is_open=True,
        ),
        _section(
            "Where it looks: focus",
            _line(f"{title} LFR, median", key("val", keys.LFR_MEDIAN, primary)),
            _line(
                f"Share of images with {title} LFR of 1 or more",
                key("val", keys.LFR_SHARE, primary),
            ),
            _line("LFR by region, median", *(key("val", keys.LFR_MEDIAN, r) for r in regions.rows)),
            *(
                _line(f"{title} LFR, median: {name}", key("val", keys.LFR_MEDIAN, name, primary))
                for name in methods
            ),
            _line("Local Sensitivity Index", key("val", keys.LSI)),
            _line(f"Heat outside the {regions.subject}", key("val", keys.BACKGROUND)),
            _line("Maps without heat", key("val", keys.ZERO_MAPS)),
            is_open=True,
        ),
        _section(
            "Where it looks: pictures",
            _pictures("Grad-CAM", "gradcam"),
            _pictures("Attention", "attention"),
            _pictures("Similarity of positions", "positions"),
            _pictures("LFR beside maps that know nothing", "focus"),
        ),
        _section(
            "Features",
            _pictures("t-SNE", "tsne"),
            *(_line(_words(name), key("val", keys.EMBEDDING, name)) for name in SEPARATION),
        ),
        _section(
            "What it mixes up",
            _pictures("Confusion matrix", "confusion"),
            _pictures("Calibration", "reliability"),
            _line("Recall by class", *(key("val", keys.RECALL, name) for name in FER_CLASSES)),
            _line(
                "Calibration error and its floor",
                *(key("val", name) for name in (keys.ECE, keys.ECE_FLOOR)),
            ),
            _line("Share of the most predicted class", key("val", keys.TOP_CLASS_SHARE)),
        ),
        _section(
            "What matters: sweeps",
            wr.ParallelCoordinatesPlot(
                title="Options and accuracy",
                columns=[
                    *(_column(wr.Config(name), name, log=name == LR) for name in COMPARED),
                    _column(wr.SummaryMetric(val_acc), val_acc),
                    _column(wr.SummaryMetric(test_acc), test_acc),
                ],
            ),
            wr.ParameterImportancePlot(with_respect_to=val_acc),
        ),
        _section(
            "Speed",
            _line("Images per second", key("train", keys.IMAGES_PER_SECOND)),
            _line("Seconds per epoch", key("train", keys.EPOCH_SECONDS)),
            _line("Learning rate", keys.LEARNING_RATE),
        ),
    ]


def _section(name: str, *panels: Any, is_open: bool = False) -> "Section":
    from wandb_workspaces import workspaces as ws

    layout = ws.SectionLayoutSettings(columns=AT_WIDTH, rows=2)
    return ws.Section(name=name, panels=list(panels), is_open=is_open, layout_settings=layout)


def _line(title: str, *names: str) -> Any:
    from wandb_workspaces.reports import v2 as wr

    return wr.LinePlot(title=title, x=keys.EPOCH, y=list(names))


def _pictures(title: str, kind: str) -> Any:
    """Pictures of validation epochs and of the test, one step after the other."""
    from wandb_workspaces.reports import v2 as wr

    names = [key(stage, kind) for stage in ("val", "test")]
    return wr.MediaBrowser(title=title, media_keys=names, num_columns=2)


def _column(metric: Any, name: str, log: bool = False) -> Any:
    from wandb_workspaces.reports import v2 as wr

    return wr.ParallelCoordinatesPlotColumn(metric=metric, display_name=name, log=log or None)


def _words(name: str) -> str:
    """Name a measure of separation."""
    measure, of = name.split("_")
    return f"{measure.replace('knn', 'kNN')}, of {of}"
