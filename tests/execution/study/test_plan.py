import pytest

from fer_lightning.errors import UserError
from fer_lightning.execution.study.plan import FocusPlan, read_study
from fer_lightning.runs.files import DEFAULT_METHODS

GOOD = """
name: gap
models:
  cnn: {config: cnn.yaml}
  vit: {config: [cnn.yaml, cnn.yaml], overrides: {model.net.depth: 2}}
overrides: {trainer.max_epochs: 3, model.net.depth: 1}
fractions: [0.3, 1.0]
seeds: [42, 43]
data: {data_dir: faces.zip}
results: done
hypotheses: [{hypothesis: H1a, first: cnn, second: vit}]
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "cnn.yaml").write_text("")
    path = tmp_path / "gap.yaml"

    def read(text):
        path.write_text(text)
        return read_study(path)

    return read


def test_a_study_file(study, tmp_path):
    found = study(GOOD)
    assert found.name == "gap"
    assert [model.name for model in found.models] == ["cnn", "vit"]
    assert found.models[0].configs == (tmp_path / "cnn.yaml",)
    assert found.models[0].overrides == {"trainer.max_epochs": 3, "model.net.depth": 1}
    assert found.models[1].overrides == {"trainer.max_epochs": 3, "model.net.depth": 2}
    assert (found.fractions, found.seeds) == ((0.3, 1.0), (42, 43))
    assert found.data_dir == str(tmp_path / "faces.zip")
    assert found.results == tmp_path / "done"
    assert found.focus == FocusPlan(200, DEFAULT_METHODS, "full")
    assert not found.equal_steps
    assert study(GOOD + "equal_steps: true").equal_steps


def test_the_least_study_file(study):
    found = study("models: {cnn: }\nfractions: [1]\nseeds: [0]\nfocus: {samples: null}")
    assert (found.name, found.models[0].configs) == ("gap", ())
    assert found.focus is None


def test_what_is_measured_of_each_cell(study):
    asked = "focus: {samples: 50, methods: [gradient, occlusion], controls: maps}"
    assert study(GOOD + asked).focus == FocusPlan(50, ("gradient", "occlusion"), "maps")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- cnn\n- vit", "expected a mapping in .* but got list"),
        ("", "expected a mapping in .* but got NoneType"),
        ("just words", "but got str"),
        ("models: [", "expected YAML"),
        ("models: {cnn: }\nmodels: {vit: }", "'models' stands there twice"),
        (GOOD.replace("vit: {", "cnn: {"), "'cnn' stands there twice"),
        (GOOD + "modles: 1", "'modles'.*did you mean 'models'"),
        (GOOD.replace("overrides: {model.net.depth: 2}", "override: {}"), "did you mean 'overr"),
        (GOOD.replace("data_dir", "dir"), "'data.dir'"),
        (GOOD.replace("seeds: [42, 43]", ""), "expected seeds"),
        (GOOD.replace("[42, 43]", "[42, 42]"), "expected different seeds"),
        (GOOD.replace("[42, 43]", "[4.5]"), "such as .42, 43, 44."),
        (GOOD.replace("[42, 43]", "[-1]"), "expected seeds"),
        (GOOD.replace("[42, 43]", "42"), "expected seeds"),
        (GOOD.replace("[0.3, 1.0]", "[0.3, 1.5]"), "each in"),
        (GOOD.replace("[0.3, 1.0]", "[0]"), "each in"),
        (GOOD.replace("[0.3, 1.0]", "[.nan]"), "each in"),
        (GOOD.replace("[0.3, 1.0]", "[true]"), "each in"),
        (GOOD.replace("config: cnn.yaml}", "config: gone.yaml}"), "no file; paths in"),
        (GOOD.replace("  cnn:", "  ../cnn:"), "names of letters"),
        (GOOD.replace("trainer.max_epochs: 3", "data.fraction: 0.1"), "which the study sets"),
        (GOOD.replace("[{hypothesis: H1a, first: cnn, second: vit}]", "[H1a]"), "list of mappings"),
        (GOOD.replace("results: done", "results: [a]"), "expected a folder as results"),
        (GOOD + "focus: {samples: 1}", "at least 2"),
        (GOOD + "focus: {methods: []}", "expected focus.methods such as"),
        (GOOD + "focus: {methods: grad_cam}", "expected focus.methods such as"),
        (GOOD + "focus: {methods: [a, a]}", "expected different methods"),
        (GOOD + "focus: {controls: map}", "'full' or 'maps' but got 'map'; did you mean 'maps'"),
        ("models: {}\nfractions: [1]\nseeds: [1]", "at least one model"),
        (
            f"models: {{cnn: }}\nfractions: [1]\nseeds: {list(range(10_001))}",
            "most 10,000 cells",
        ),
        ("a: " + "x" * (1 << 20), "at most 1,048,576 bytes"),
        ("[" * 2_000, "expected YAML"),
    ],
)
def test_mistakes_are_told_in_one_sentence(study, text, why):
    with pytest.raises(UserError, match=why):
        study(text)


def test_no_file(tmp_path):
    with pytest.raises(UserError, match="expected a file at"):
        read_study(tmp_path / "none.yaml")


def test_too_many_cells(study, monkeypatch):
    monkeypatch.setattr("fer_lightning.execution.study.plan.MOST_CELLS", 7)
    with pytest.raises(UserError, match="at most 7 cells"):
        study(GOOD)


def test_an_option_is_varied_for_every_model(study):
    found = study(GOOD + "vary: {data.cue.strength: [0.0, 0.5, 1.0]}\n")
    assert [model.name for model in found.models][:4] == [
        *("cnn.strength0.0", "cnn.strength0.5", "cnn.strength1.0"),
        "vit.strength0.0",
    ]
    assert found.models[1].overrides["data.cue.strength"] == 0.5
    assert found.models[1].varied == {"model": "cnn", "option": "data.cue.strength", "value": 0.5}


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("{model.lr: [0.1]}", "two or more different values"),
        ("{model.lr: [0.1, 0.1]}", "two or more different values"),
        ("{model.lr: [0.1, 0.2], data.batch_size: [8, 16]}", "expected one option"),
        ("{data.fraction: [0.1, 0.2]}", "which the study sets itself"),
    ],
)
def test_what_cannot_be_varied(study, vary, message):
    with pytest.raises(UserError, match=message):
        study(f"{GOOD}vary: {vary}\n")
