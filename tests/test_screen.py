"""Names that would be markup, commands of the terminal, or links."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from fake_runs import fake_run
from matplotlib.backends.backend_agg import FigureCanvasAgg
from reader_samples import encode, faces
from rich.console import Console
from rich.errors import MarkupError
from rich.text import Text

from fer_lightning.api.training_run import summary_table
from fer_lightning.cli import help_text
from fer_lightning.cli import main as cli
from fer_lightning.data.audit import audit
from fer_lightning.data.readers import read
from fer_lightning.errors import UserError
from fer_lightning.plots.answers import confusion_figure
from fer_lightning.plots.tsne import tsne_figure
from fer_lightning.report.content import Report, Section
from fer_lightning.report.content import Text as Words
from fer_lightning.report.render.markdown import markdown
from fer_lightning.runs.folder import unfinished_run
from fer_lightning.screen import Screen, say

HOSTILE = ["[/red]", "a\x1b]0;title\x07\x1b[2J", "\u202eexe", "[link=http://a.b]x[/link]", ":bomb:"]


def printed(*things, console=Screen):
    text = io.StringIO()
    console(file=text, width=200).print(*things)
    return text.getvalue()


def summary():
    numbers = {"acc": 0.5, "macro_f1": 0.5, "nll": 1.0, "ece": 0.1, "ece_floor": 0.1, "images": 9}
    measured = numbers | {"recall": dict.fromkeys(HOSTILE, 0.5)}
    facts = {"model": "[/b]", "data": "\x1b[31m", "val": measured, "best_epoch": None}
    cost = {"parameters": 1, "multiply_adds": 1, "hardware": "CPU", "substitutions": []}
    return facts | cost


def test_names_appear_as_they_are():
    with pytest.raises(MarkupError):  # what ended a finished training
        printed(summary_table(summary(), "runs/[/x]\x1b"), console=Console)
    text = printed(summary_table(summary(), "runs/[/x]\x1b"))
    assert "\x1b" not in text
    assert "\u202e" not in text
    for name in (
        "[/red]",
        "a\\x1b]0;title",
        "[link=http://a.b]x[/link]",
        ":bomb:",
        "[/b] on \\x1b",
    ):
        assert name in text
    assert "Everything lies in runs/[/x]\\x1b" in text


@pytest.mark.parametrize("terminal", [True, False])
def test_a_sentence_is_wrapped_between_words_on_a_terminal_alone(terminal):
    text = io.StringIO()
    say(Screen(file=text, width=80, force_terminal=terminal), "sentence " * 20)
    lines = text.getvalue().splitlines()
    assert (len(lines) == 1) is not terminal
    assert terminal is all(len(line) <= 80 for line in lines)
    assert {word for line in lines for word in line.split()} == {"sentence"}


def test_help_fits_a_terminal_of_80_columns():
    assert all(len(line) <= 80 for line in help_text().splitlines())


def test_one_thread_and_one_epoch_are_no_threads_and_epochs():
    facts = {"hardware": "CPU x86_64, 1 threads", "best_epoch": 0, "epochs": 1, "seconds": 5}
    text = printed(summary_table(summary() | facts, "runs/a"))
    assert "1 epoch (best: 1) in 0:00:05 on CPU x86_64, 1 thread\n" in text


def test_text_is_made_safe_too():
    assert printed(Text("a\x9bb\x1b[1m")) == "a\\x9bb\\x1b[1m\n"


def test_tables_of_an_audit(tmp_path):
    for name in ("[/red]", "\x1b[31m"):
        (tmp_path / name.replace("/", "\u2215")).mkdir()
        path = tmp_path / name.replace("/", "\u2215") / "1.png"
        path.write_bytes(encode(faces(1)[0]))
    text = printed(*audit(read(tmp_path)).tables())
    assert "\\x1b[31m" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("name", ["$a^$", "\\frac{", *HOSTILE])
def test_names_in_pictures_are_no_formulas(name):
    for figure in (
        confusion_figure(np.eye(2, dtype=int), (name, "b"), name),
        tsne_figure(np.zeros((2, 2)), np.array([0, 1]), (name, "b"), {}, name),
    ):
        FigureCanvasAgg(figure).draw()


def test_titles_in_markdown_are_no_tags_and_links():
    evil = "x\n<script>alert(1)</script> ![](http://a.b/c.png) \x1b"
    page = markdown(Report(evil, evil, (Section("s", evil, (Words(evil),)),)))
    assert "<script" not in page
    assert "](http" not in page
    assert "\x1b" not in page
    assert page.startswith("# x &lt;script>")


def test_a_mistake_is_told_without_commands_of_the_terminal(capsys):
    assert cli(["report", "none\x1b[2J"]) == 2
    assert "none\\x1b[2J" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "audit", "dashboard"])
def test_a_link_to_itself(tmp_path, command, capsys):
    link = tmp_path / "loop"
    link.symlink_to(link)
    assert cli([command, str(link)]) == 2
    assert capsys.readouterr().err.startswith("error: expected ")


def test_a_link_to_itself_among_pictures(tmp_path):
    (tmp_path / "sad").mkdir()
    (tmp_path / "sad" / "1.png").write_bytes(encode(faces(1)[0]))
    (tmp_path / "sad" / "2.png").symlink_to(tmp_path / "sad" / "2.png")
    with pytest.raises(UserError, match=r"expected something readable at .*2\.png"):
        read(tmp_path)


def test_names_that_are_no_text(tmp_path):
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/sad\xff")).mkdir()
    except OSError:
        pytest.skip("the file system takes text only")
    with pytest.raises(UserError, match=r"expected names in UTF-8 but .* holds sad\\udcff"):
        read(tmp_path)


def test_a_config_that_is_no_text_is_of_another_run(tmp_path):
    run = fake_run(tmp_path)
    (run / "config.yaml").write_bytes(b"\xff\xfe")
    assert unfinished_run(tmp_path, "a: 1\n") is None
