from report_runs import write_run

from fer_lightning.report.sections.learning import learning, learning_picture
from fer_lightning.report.sections.registry import Material
from fer_lightning.runs.collection import collect


def run_with(folder, *accuracies):
    run = write_run(folder)
    lines = [f"{epoch},{value}" for epoch, value in enumerate(accuracies)]
    (run / "metrics.csv").write_text("\n".join(["epoch,val/acc", *lines]) + "\n")
    return collect([folder])


def test_a_table_without_levels_promises_none(tmp_path):
    (found,) = learning(Material(run_with(tmp_path, 0.1, 0.12)))
    assert not any(column.startswith("to ") for column in found.columns)
    assert "first reached" not in found.caption
    assert not any("never reached" in note for note in found.notes)


def test_a_table_with_levels_explains_its_gaps(tmp_path):
    (found,) = learning(Material(run_with(tmp_path, 0.1, 0.52)))
    assert found.columns[-1] == "to 0.5"
    assert "first reached" in found.caption
    assert "never reached" in found.notes[0]


def test_figure_and_table_count_epochs_alike(tmp_path):
    collection = run_with(tmp_path, 0.1, 0.52, 0.3)
    (found,) = learning(Material(collection))
    assert found.rows[0][found.columns.index("best after")] == 2
    assert "0.520 in epoch 2" in learning_picture(collection).alt
