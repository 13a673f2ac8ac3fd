"""A report as a study would give it, from drawn faces and made-up numbers."""

from functools import cache

import numpy as np

from fer_lightning.data.faces import drawn_faces
from fer_lightning.plots.style import BLUE, GREEN, MIDDLE, VERMILLION, new_figure
from fer_lightning.report.content import Picture, Points, Report, Scatter, Section, Table, Text

MODELS = ("cnn", "vit", "swin")
FRACTIONS = (0.3, 0.6, 1.0)
COUNT, MAPS = 300, 60


@cache
def sample_faces():
    return drawn_faces(COUNT)


def sample_report():
    """Seven sections, six tables, four figures and the t-SNE of three models."""
    rng = np.random.default_rng(0)
    sections = (
        Section("summary", "Summary", (*_words(), _accuracy(rng))),
        Section("data", "Data and leakage", (_table("audit", rng, 4), _picture("classes", rng))),
        Section("accuracy", "Accuracy against data", (_picture("accuracy", rng), _gaps())),
        Section("learning", "Learning curves", (_picture("curves", rng), _table("epochs", rng, 9))),
        Section("focus", "Where the models look", (_focus(rng), _picture("focus-cnn", rng))),
        Section("tsne", "Features in the plane", (_scatter(rng, sample_faces()),)),
        Section(
            "reproduce",
            "How to reproduce",
            (
                Text("Run in a clone:"),
                Text("`pip install -e .\nfer-lightning study configs/study/demo.yaml --jobs 2`"),
                _table("versions", rng, 3),
            ),
        ),
    )
    return Report("Inductive bias gap", "drawn faces, `3fa94c01`, 27 runs", sections)


def _words():
    yield Text("**Drawn faces stand in for FER-2013.** No number here is about people.", "note")
    for name, outcome in (("H1a", "supported"), ("H1b", "undecided"), ("H2", "not supported")):
        reason = "The interval lies on one side of 0 at every fraction, p below 0.005."
        yield Text(f"**{name} {outcome}**: the CNN leads the ViT. {reason}", "verdict")
    yield Text("Three models, three fractions, three seeds; **all seeds are listed** below.")


def _accuracy(rng):
    rows = tuple(
        (model, f"{fraction:.0%}".replace("%", " %"), seed, float(rng.uniform(0.4, 0.8)), lead)
        for model in MODELS
        for fraction in FRACTIONS
        for seed, lead in ((0, -0.5), (1, None), (2, 12.25))
    )
    columns = ("model", "data", "seed", "accuracy", "lead")
    return Table("overview", "Test accuracy of every run.", columns, rows, ("Lead in points.",))


def _gaps():
    rows = (
        ("cnn - vit", "9.2 [7.1, 11.0]", 0.00012, 1278631),
        ("cnn - swin", "−1.5 [−3.0, 0.2]", 0.21, 807431),  # noqa: RUF001
        ("swin - vit", "10.7 [8.0, 12.9]", 0.004, 98),
    )
    return Table("gaps", "Differences.", ("pair", "difference", "p", "parameters"), rows)


def _table(name, rng, rows):
    numbers = rng.normal(size=(rows, 3)).tolist()
    return Table(name, f"Numbers of {name}.", ("what", "a", "b", "c"), tuple(
        (f"{name} {place}", *line) for place, line in enumerate(numbers)
    ))  # fmt: skip


def _focus(rng):
    measures = ("eyes", "mouth", "eyebrow", "nose", "key", "all")
    columns = ("model", *(f"{name} {what}" for name in measures for what in ("LFR", "share ≥ 1")))
    rows = tuple((model, *rng.uniform(0, 2, 12).tolist()) for model in (*MODELS, "vit (null)"))
    note = "LFR of **random** maps is 1 by construction."
    return Table("focus", "Mean heat in a region over mean heat.", columns, rows, (note,))


def _picture(name, rng):
    figure = new_figure(MIDDLE, 2.6, f"{name} of three models", "Bars are intervals.")
    axes = figure.subplots()
    for colour, model in zip((BLUE, VERMILLION, GREEN), MODELS, strict=True):
        axes.plot(rng.normal(size=30).cumsum(), color=colour, label=model)
    axes.legend()
    return Picture(name, f"The {name}.", f"Three lines, one a model: {name}.", figure)


def _scatter(rng, faces):
    rows = np.arange(1000, 1000 + COUNT)
    label = faces.labels.astype(np.int64)
    plots = []
    for name in MODELS:
        centres = rng.normal(size=(7, 2)) * 20
        xy = (centres[label] + rng.normal(size=(COUNT, 2)) * 7).astype(np.float32)
        wrong = rng.random(COUNT) < 0.3
        predicted = np.where(wrong, rng.integers(0, 7, COUNT), label)
        confidence = rng.uniform(0.3, 1, COUNT).astype(np.float32)
        maps = np.stack([_blob(*centre) for centre in rng.uniform(0, 6, (MAPS, 2))])
        plots.append(Points(name, xy, rows, label, predicted, confidence, rows[:MAPS], maps))
    caption = "t-SNE of the features of 300 test images."
    images = np.squeeze(faces.images)
    return Scatter("tsne-plot", caption, faces.classes, tuple(plots), rows, images)


def _blob(x, y):
    down, across = np.mgrid[:6, :6]
    return np.exp(-((across - x) ** 2 + (down - y) ** 2) / 3).astype(np.float32)
