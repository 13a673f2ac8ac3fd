import pytest
import yaml
from fake_runs import fake_run

from fer_lightning.errors import UserError
from fer_lightning.runs.collection import collect


def trained(root, started, **options):
    run = fake_run(root, started=started, name=options.pop("run_name"))
    config = {"seed_everything": 42, "trainer": {"max_epochs": 2}, **options}
    (run / "config.yaml").write_text(yaml.safe_dump(config | {"run_name": run.name}))
    return run


def test_a_training_repeated_under_another_name_counts_once_and_is_named(tmp_path):
    one = trained(tmp_path, "today", run_name="one", output_dir="runs")
    two = trained(tmp_path, "tomorrow", run_name="two", output_dir="elsewhere")
    found = collect([tmp_path])
    assert [run.path for run in found.runs] == [one]
    assert found.left_out == {
        str(two): f"it repeats {one} with the same options, so that they count once"
    }


def test_runs_for_one_cell_name_the_options_by_which_they_differ(tmp_path):
    trained(tmp_path, "today", run_name="one")
    trained(tmp_path, "today", run_name="two", trainer={"max_epochs": 3}, model={"lr": 0.1})
    with pytest.raises(UserError) as error:
        collect([tmp_path])
    assert "with another model.lr (unset and 0.1), trainer.max_epochs (2 and 3)" in str(error.value)


def test_many_options_are_counted(tmp_path):
    trained(tmp_path, "today", run_name="one")
    trained(tmp_path, "today", run_name="two", model=dict.fromkeys("abcde", 1))
    with pytest.raises(UserError, match=r"model.c \(unset and 1\) and 2 more; report"):
        collect([tmp_path])


def test_without_a_configuration_the_beginning_tells_a_copy(tmp_path):
    one, two, three = (
        trained(tmp_path / name, when, run_name=name)
        for name, when in (("one", "today"), ("two", "today"), ("three", "tomorrow"))
    )
    for run in (two, three):
        (run / "config.yaml").unlink()
    assert "same run" in collect([one, two]).left_out[str(two)]
    with pytest.raises(UserError, match="trained differently"):
        collect([one, three])
