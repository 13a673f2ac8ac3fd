import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from fer_lightning.data.regions import FACE
from fer_lightning.errors import UserError
from fer_lightning.plots.focus import (
    COLUMNS,
    curve,
    focus_by_method,
    focus_curves,
    focus_distribution,
    level,
    null_maps,
)
from fer_lightning.plots.style import GREY


def rows(epochs=3):
    """A model that looks ever more at each region, and two null maps."""
    found = []
    for epoch in range(epochs):
        for k, region in enumerate(FACE.rows):
            lfr = {"median": 1 + epoch + k, "q25": 0.5, "q75": 8, "share_ge_1": 0.1 * epoch}
            counts = {"n": 200, "zero_maps": 50 - 10 * epoch}
            found.append(
                {
                    "epoch": epoch,
                    "maps": "model",
                    "metric": "lfr",
                    "region": region,
                    **lfr,
                    **counts,
                }
            )
        for metric in ("lsi", "background"):
            numbers = {"median": 0.2, "q25": 0.1, "q75": 0.3}
            found.append(
                {"epoch": epoch, "maps": "model", "metric": metric, "region": "", **numbers}
            )
    for maps, median in (("uniform", 1.0), ("centre_gaussian", 2.5)):
        for metric in ("lfr", "lsi", "background"):
            for region in FACE.rows if metric == "lfr" else ("",):
                found.append(
                    {
                        "epoch": "",
                        "maps": maps,
                        "metric": metric,
                        "region": region,
                        "median": median,
                    }
                )
    return found


def test_nine_panels_in_order_with_a_legend(complete):
    figure = focus_curves(rows(), title="vit · drawn faces · 0123")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [*FACE.rows, "share of images with LFR ≥ 1", "LSI", "background share"]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [*FACE.rows, "zero maps", "null: uniform", "null: centre gaussian"]
    assert figure.get_supxlabel().startswith("200 images.")
    complete(figure)


def test_medians_bands_and_null_lines_stand_where_the_rows_say():
    mouth = focus_curves(rows()).axes[FACE.rows.index("mouth")]
    median, uniform, gaussian = mouth.lines
    assert np.asarray(median.get_ydata()).tolist() == [2, 3, 4]
    assert np.asarray(median.get_xdata()).tolist() == [1, 2, 3]  # files count from 0
    assert (uniform.get_ydata()[0], gaussian.get_ydata()[0]) == (1.0, 2.5)
    assert to_hex(gaussian.get_color()) == GREY.lower()
    band = mouth.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (0.5, 8)
    assert mouth.get_yscale() == "log"
    assert mouth.get_ylim()[0] < 0.5 < 8 < mouth.get_ylim()[1]


def test_one_epoch_has_one_tick():
    panel = focus_curves(rows(epochs=1)).axes[-1]
    low, high = panel.get_xlim()
    assert [tick for tick in panel.get_xticks() if low <= tick <= high] == [1]
    assert panel.get_xlabel() == "epoch"


def test_zero_maps_are_drawn_as_their_share():
    share = focus_curves(rows()).axes[6]
    assert len(share.lines) == len(FACE.rows) + 1
    assert np.asarray(share.lines[-1].get_ydata()).tolist() == [0.25, 0.2, 0.15]


def test_rows_read_from_a_file_are_text_in_any_order(complete):
    as_text = [{name: str(row.get(name, "")) for name in COLUMNS} for row in reversed(rows())]
    figure = focus_curves(as_text)
    assert np.asarray(figure.axes[0].lines[0].get_ydata()).tolist() == [1, 2, 3]
    complete(figure)


def test_no_rows_one_epoch_and_rows_of_nan_are_drawn(texts, complete):
    assert texts(focus_curves([])).count("no numbers") == 9
    complete(focus_curves(rows(epochs=1)))
    broken = [
        row | {"median": math.nan, "q25": math.nan, "q75": "", "share_ge_1": None} for row in rows()
    ]
    figure = focus_curves(broken)
    assert texts(figure).count("no numbers") == 8  # zero maps are still known
    complete(figure)


def test_one_huge_quartile_does_not_flatten_the_panels():
    wild = [row | {"q75": 1e8} if row["region"] == "eyes" else row for row in rows()]
    assert focus_curves(wild).axes[0].get_ylim()[1] < 100


def test_curves_and_levels_are_looked_up_by_metric_region_and_map():
    epochs, values = curve(rows(), "median", "lfr", "nose")
    assert epochs.tolist() == [0, 1, 2]
    assert values.tolist() == [4, 5, 6]
    assert null_maps(rows()) == ["uniform", "centre_gaussian"]
    assert level(rows(), "median", "lsi", "", "centre_gaussian") == 2.5
    assert math.isnan(level(rows(), "median", "lsi", "", "untrained"))


def lfr():
    model = np.exp(np.random.default_rng(0).normal(0.5, 0.5, (100, 6)))
    model[:13] = np.nan
    model[20] = 1e8
    model[21] = 0
    return {"vit": model, "uniform": np.ones((50, 6))}


def test_a_panel_a_region_and_zero_maps_in_the_label(complete):
    figure = focus_distribution(lfr(), ["uniform"], title="LFR · drawn faces · 0123")
    assert [axes.get_title() for axes in figure.axes] == list(FACE.rows)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["vit\n13/100 zero maps", "uniform\n0/50 zero maps"]
    complete(figure)


def test_every_image_with_a_value_is_a_mark_within_the_panel():
    axes = focus_distribution(lfr(), ["uniform"]).axes[0]
    places = [np.asarray(dots.get_offsets()) for dots in axes.collections]
    of_model = np.concatenate([p for p in places if len(p) and p[:, 1].max() < 0.5])
    assert len(of_model) == 87
    assert [len(p) for p in places[1:3]] == [1, 1]  # 0 and 1e8 stand at the borders
    low, high = axes.get_xlim()
    assert low < of_model[:, 0].min() < of_model[:, 0].max() < high
    assert np.isfinite(of_model).all()


def test_the_median_is_marked():
    values = np.array([[0.5], [1.0], [4.0], [np.nan]])
    axes = focus_distribution({"vit": values}, regions=["key"]).axes[0]
    assert np.asarray(axes.lines[-1].get_xdata()).tolist() == [1.0, 1.0]


def test_only_zero_maps_is_said_in_the_panel(texts, complete):
    figure = focus_distribution({"vit": np.full((4, 6), np.nan)})
    assert texts(figure).count(" only zero maps") == 6
    assert "vit\n4/4 zero maps" in texts(figure)
    complete(figure)


def test_wrong_columns_and_no_maps_are_refused():
    with pytest.raises(UserError, match=r"shape \(images, 6\) for 'vit' but got \(4, 2\)"):
        focus_distribution({"vit": np.ones((4, 2))})
    with pytest.raises(UserError, match="at least one kind of map"):
        focus_distribution({})


def test_methods_stand_side_by_side_with_their_medians(complete):
    table = pd.DataFrame(
        [
            {"method": method, "lfr_eyes": lfr, "lfr_nose": 1.0}
            for method, values in {"grad_cam": (0.5, 1, 2, 1e9), "occlusion": (4, 4, 4)}.items()
            for lfr in values
        ]
    )
    figure = focus_by_method(table, ["eyes", "nose"], "cnn")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["grad_cam", "occlusion"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["eyes", "nose"]
    assert axes.get_xscale() == "log"
    medians = {round(float(x), 6) for line in axes.lines for x in np.ravel(line.get_xdata())}
    assert {4.0, 1.0} <= medians
    assert max(medians) <= 32.0  # a map without heat outside lies at the border
    complete(figure)
