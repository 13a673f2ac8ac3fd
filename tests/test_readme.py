"""What README, pages and configs tell readers to type, open or click is there and works."""

import argparse
import ast
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from fer_lightning.cli import COMMANDS, TRAINING, main
from fer_lightning.commands.fit import with_class_paths
from fer_lightning.commands.resolve import resolver
from fer_lightning.data.defects import write_defects
from fer_lightning.execution.study.plan import read_study
from fer_lightning.look.methods import METHODS
from fer_lightning.models import MODELS
from fer_lightning.shipped import find, with_shipped_configs

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = {path: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}
TEXTS = {ROOT / "README.md": README, **PAGES}  # what names files and commands
LINKED = TEXTS | {ROOT / name: (ROOT / name).read_text() for name in ("CONTRIBUTING.md",)}
BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)
SHELL = [text for page in TEXTS.values() for kind, _, text in BLOCK.findall(page) if kind == "sh"]
TITLED = {title: text for page in PAGES.values() for _, title, text in BLOCK.findall(page) if title}
YOURS = ("mine.yaml", "runs/X/config.yaml")  # configs that a reader has by then


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


def test_ci_runs_the_readmes_test_command():
    blocks = [text for kind, _, text in BLOCK.findall(README) if kind == "sh"]
    assert blocks[0].startswith("pip install -e . && fer-lightning fit")
    assert blocks[1].strip() in (ROOT / ".ci/run").read_text()


def test_the_readmes_table_has_every_command():
    assert re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE) == list(COMMANDS)


# --- Files, links and pages


def named_paths():
    folders = "configs|docs|sweeps|tests|benchmarks|fer_lightning"
    paths = re.compile(rf"(?<![\w/.-])(?:{folders})/[\w./-]*\w")
    modules = re.compile(r"python -m (benchmarks[\w.]+)")
    for text in TEXTS.values():
        yield from paths.findall(text)
        yield from (f"{name.replace('.', '/')}.py" for name in modules.findall(text))


@pytest.mark.parametrize("path", sorted(set(named_paths())))
def test_named_files_exist(path):
    assert (ROOT / path).exists()


def slug(heading):
    """Write a heading as the anchor that GitHub and mkdocs give it.

    >>> slug("On `W&B`, today")
    'on-wb-today'
    """
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-")


def anchors(path):
    return {slug(line) for line in re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)}


def links():
    for path, text in LINKED.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", text)):
            if not target.startswith("https://"):
                yield path, target


@pytest.mark.parametrize(("path", "target"), list(links()), ids=lambda value: str(value)[-40:])
def test_links_lead_somewhere(path, target):
    name, _, anchor = target.partition("#")
    found = path.parent / name if name else path
    assert found.is_file()
    assert not anchor or anchor in anchors(found)


def in_navigation(entry):
    if isinstance(entry, str):
        return [entry]
    inside = entry.values() if isinstance(entry, dict) else entry
    return [page for one in inside for page in in_navigation(one)]


def test_every_page_is_in_the_navigation_once():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    tree = ast.parse((ROOT / "docs/site_pages.py").read_text())
    made = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGES"
    )
    assert all((ROOT / source).is_file() for source in made)
    pages = {path.name for path in PAGES} | {*made.values()}
    assert sorted(in_navigation(settings["nav"])) == sorted(pages)


def test_the_site_loads_nothing_from_other_hosts():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert settings["theme"]["font"] is False
    assert "repo_url" not in settings  # the theme would ask GitHub for its stars
    for path in (ROOT / "mkdocs.yml", ROOT / "docs/site.css", *PAGES):
        assert not re.search(r"(?:src=|!\[[^]]*\]\(|url\(|: )\"?https?:", path.read_text()), path


# --- Commands


def shell_commands(block):
    """Yield what a block of shell tells to run: lines joined, variables filled in."""
    block = block.replace("\\\n", " ")
    variables = dict(re.findall(r'^(\w+)="([^"]*)"$', block, re.MULTILINE))
    for name, value in variables.items():
        block = block.replace(f"${name}", " ".join(value.split()))
    yield from re.findall(r"(?:fer-lightning|-m fer_lightning\.cli) ([^\n>|&#]*)", block)


def config_commands(path):
    """Yield the commands in the head of a config, without the remarks behind them."""
    head = re.match(r"(?:#.*\n)+", path.read_text())[0].replace("\\\n#", " ")
    for line in re.findall(r"^#   fer-lightning (.*)$", head, re.MULTILINE):
        yield re.sub(r"\s+\(.*\)$", "", line)


CONFIGS = sorted([*(ROOT / "configs").rglob("*.yaml"), *(ROOT / "sweeps").glob("*.yaml")])
ON_PAGES = [command for block in SHELL for command in shell_commands(block)]
ON_PAGES += [
    command
    for text in TEXTS.values()
    for command in re.findall(r"`fer-lightning ([^`]+)`", BLOCK.sub("", text))
]
IN_CONFIGS = [command for path in CONFIGS for command in config_commands(path)]
TYPED = [
    pytest.param(command, marks=[pytest.mark.slow] if command not in known else [])
    for known in [{" ".join(command.split()) for command in ON_PAGES}]
    for command in sorted(known | {" ".join(command.split()) for command in IN_CONFIGS})
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a reader who has written down what pages show."""
    place = tmp_path_factory.mktemp("reader")
    files = TITLED | dict.fromkeys(YOURS, find("vit", "config").read_text())
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.fixture
def reader(folder, monkeypatch):
    """Work in that folder; what its modules register is forgotten afterwards."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    before = {**MODELS}, {**METHODS}
    yield folder
    for registry, kept in zip((MODELS, METHODS), before, strict=True):
        for name in {*registry} - {*kept}:
            del registry[name]
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


class ParsedError(Exception):
    """Ends a command once its options were understood."""


def parse_only(self, args=None, namespace=None):
    found, unknown = argparse.ArgumentParser.parse_known_args(self, args, namespace)
    if unknown:
        self.error(f"unrecognized arguments: {' '.join(unknown)}")
    raise ParsedError(found)


def test_a_wrong_option_is_noticed(monkeypatch, capsys):
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    with pytest.raises(SystemExit):
        main(["report", "runs", "--colour"])
    assert "unrecognized arguments: --colour" in capsys.readouterr().err


@pytest.mark.parametrize("command", TYPED)
def test_commands_parse(command, reader, monkeypatch):
    words = shlex.split(command, comments=True)
    assert words[0] in COMMANDS or words[0] == "COMMAND"
    if "--help" in words or len(words) == 1:  # or it is only named
        return
    if COMMANDS[words[0]][0] == TRAINING or words[:2] == ["predict", "--config"]:
        resolver().parser.parse_args(with_class_paths(with_shipped_configs(words)))
        return
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    with pytest.raises(ParsedError) as parsed:
        main(words)
    if words[0] in ("study", "sweep") and not words[1].isupper():
        assert find(parsed.value.args[0].file, words[0]).is_file()


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.yaml")), ids=lambda p: p.name)
def test_configs_open_with_their_command(path):
    head = re.match(r"(#.*\n)+", path.read_text())
    name = path.relative_to(ROOT).as_posix()
    way = "study" if path.parent.name == "study" else "fit --config"
    assert head is not None
    assert f"#   fer-lightning {way} {name}" in head[0] or f"--config {name}" in head[0]


# --- Python and files on pages


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_python_on_pages_names_what_exists(path):
    for kind, _, text in BLOCK.findall(PAGES[path]):
        if kind != "python":
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("fer_lightning"):
                exec(ast.unparse(node), {})
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "fl":
                exec(f"import fer_lightning; fer_lightning.{node.attr}", {})


def test_the_own_model_and_method_are_looked_at(reader, capsys):
    runpy.run_path("look.py")
    shown = capsys.readouterr().out
    assert "brightness" in shown
    assert "untrained" in shown


def test_the_own_folder_is_understood(reader, capsys):
    made = re.search(r"write_defects\((.*)\)", TITLED["make_plates.py"])[1]
    assert "plates" in made
    write_defects("few/plates", size=30, image_size=32)
    assert (reader / "few/plates/regions.yaml").is_file()
    assert main(["audit", "few/plates/images"]) == 0
    assert "scratch" in capsys.readouterr().out
    study = read_study(Path("plates_study.yaml"))
    assert [model.name for model in study.models] == ["cnn", "vit"]
    given = yaml.safe_load((reader / "plates/regions.yaml").read_text())
    assert given == yaml.safe_load((reader / "few/plates/regions.yaml").read_text())


@pytest.mark.slow
def test_the_own_folder_comes_to_its_verdict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("make_plates.py", "plates.yaml", "plates_study.yaml"):
        Path(name).write_text(TITLED[name])
    runpy.run_path("make_plates.py")
    page = PAGES[ROOT / "docs/own_data.md"]
    for kind, _, block in BLOCK.findall(page):
        for command in shell_commands(block) if kind == "sh" else ():
            assert main(shlex.split(command, comments=True)) == 0, command
    table = Path("runs/plates/tables/verdicts.csv").read_text()
    assert "H1a" in table
    assert "H2" in table
