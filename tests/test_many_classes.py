"""A thousand classes: every picture and table stays of a size that somebody can look at."""

import io

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image
from report_runs import LOOKING, write_run
from rich.console import Console

import fer_lightning as fl
from fer_lightning.api.training_run import summary_table
from fer_lightning.callbacks import ConfusionCallback, EmbeddingCallback, GradCAMCallback
from fer_lightning.plots.answers import confusion_figure
from fer_lightning.plots.galleries import gradcam_gallery
from fer_lightning.plots.tsne import tsne_figure
from fer_lightning.report.compose import compose
from fer_lightning.report.content import Table
from fer_lightning.report.render.html import render
from fer_lightning.report.write import settle
from fer_lightning.runs.collection import collect
from fer_lightning.runs.files import read_json, write_json

K, N = 1000, 10_000
CLASSES = [f"class {k}" for k in range(K)]
LABELS = np.arange(N) % K
ANSWERS = np.where(np.arange(N) < 7000, LABELS, (LABELS + 1) % K)
MEGAPIXELS = 8


def drawn(figure):
    """Draw a figure; return its caption, which says what is left out."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    width, height = canvas.get_width_height()
    assert width * height < MEGAPIXELS * 1e6
    assert len(figure.findobj()) < 3000  # what takes the time
    return " ".join(figure.get_supxlabel().split())


def test_confusion():
    counts = np.bincount(LABELS * K + ANSWERS, minlength=K * K).reshape(K, K)
    figure = confusion_figure(counts, CLASSES)
    assert "One in 50 of 1,000 classes named. Accuracy 0.700" in drawn(figure)
    assert np.asarray(figure.axes[0].images[0].get_array())[3, 3] == pytest.approx(0.7)
    named = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert named[:2] == ["class 0", "class 50"]
    assert len(named) == 20


def test_gallery():
    labels = np.arange(300, 500)
    faces, overlays = np.zeros((200, 8, 8), np.uint8), np.zeros((200, 16, 16, 3), np.uint8)
    figure = gradcam_gallery(faces, overlays, labels, labels, np.ones(200), CLASSES)
    assert "20 of 1,000 classes: the first with images." in drawn(figure)
    words = [text.get_text() for text in figure.axes[0].texts]
    assert "class 300" in words
    assert "class 320" not in words


def test_tsne():
    points = np.random.default_rng(0).normal(size=(N, 2))
    figure = tsne_figure(points, np.minimum(LABELS, 30), CLASSES, {})
    assert "Named: the 20 largest of 1,000 classes" in drawn(figure)
    assert "class 30 (9700)" in [text.get_text() for text in figure.legends[0].get_texts()]


def wide(tmp_path):
    """A run of a thousand classes."""
    folder = write_run(tmp_path, leave_out=LOOKING)
    logits = np.eye(K, dtype=np.float32)[ANSWERS]
    arrays = {"row": np.arange(N), "label": LABELS, "logits": logits}
    np.savez_compressed(folder / "predictions.npz", **arrays)
    write_json(folder / "summary.json", read_json(folder / "summary.json") | {"classes": CLASSES})
    return folder


def test_report(tmp_path):
    report = compose(collect([wide(tmp_path)]))
    settle(report)
    page = render(report)
    assert len(page) < 2_000_000
    assert "class 19 and 980 more" in page
    tables = {item.id: item for s in report.sections for item in s.items if isinstance(item, Table)}
    assert len(tables["recall"].columns) == 23
    assert len(tables["classes"].rows) == 20
    assert "The 20 largest of 1,000 classes" in tables["classes"].caption


def test_a_training_of_a_thousand_classes(tmp_path):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (3 * K, 8, 8), dtype=np.uint8)
    data = fl.load_data(pictures, np.tile(np.arange(K), 3), CLASSES, duplicates="keep")
    model = fl.create_model("vit", patch_size=4, dim=8, depth=1, heads=2, **data.sizes)
    looks = [ConfusionCallback(), GradCAMCallback(samples=30), EmbeddingCallback(samples=40)]
    options = {"tensorboard": False, "quiet": True, "accelerator": "cpu"}
    fl.train(model, data, max_epochs=1, run_dir=tmp_path / "run", callbacks=looks, **options)
    pictures = list((tmp_path / "run").rglob("*.png"))
    assert {path.parent.name for path in pictures} >= {"confusion", "gradcam", "tsne"}
    for path in pictures:
        width, height = Image.open(path).size
        assert width * height < MEGAPIXELS * 1e6
    text = io.StringIO()
    summary = read_json(tmp_path / "run" / "summary.json")
    Console(file=text, width=100).print(summary_table(summary, "run"))
    assert "recall of the 8 worst of 1,000 classes" in text.getvalue()
    assert len(text.getvalue().splitlines()) < 40
