"""H6: the background's share of a model's maps against the claimed one."""

import numpy as np
import pandas as pd
import pytest
from fake_runs import fake_run

from fer_lightning.hypotheses import judge_all, read_asked
from fer_lightning.hypotheses.h6_background import area, shares
from fer_lightning.runs.run import read_run

METHOD = "attention_rollout"


def run_with(root, model, seed, share, zero=0):
    """A run whose maps lie on the background by this share, within 0.05; the first are zero."""
    folder = fake_run(root, model, 1.0, seed)
    values = share + np.random.default_rng(seed).uniform(-0.05, 0.05, 60)
    values[:zero] = np.nan
    table = pd.DataFrame({"row": range(60), "resolution": "native", "background_share": values})
    table.assign(method=METHOD).to_csv(folder / "focus_samples.csv", index=False)
    (folder / "focus.csv").write_text(
        f"method,source,region,background_share\n{METHOD},model,key,{share}\n"
        f"{METHOD},uniform,key,0.4\n"
    )
    return read_run(folder)


def verdicts(runs, models, **more):
    asked = read_asked([{"hypothesis": "H6", "models": models, **more}], models)
    return judge_all(asked, [], [], [1.0], [1, 2, 3], runs=runs)


def test_the_claim_is_judged_for_each_model(tmp_path):
    runs = [run_with(tmp_path, "vit", seed, 0.7) for seed in (1, 2, 3)]
    runs += [run_with(tmp_path, "cnn", seed, 0.3) for seed in (1, 2, 3)]
    vit, cnn = verdicts(runs, ["vit", "cnn"])
    assert vit.outcome == "supported"
    assert "70" in vit.reason.split(" %")[0] or "69" in vit.reason.split(" %")[0]
    assert cnn.outcome == "not supported"
    assert any(c.startswith("40.0 % of the pictures is background") for c in vit.caveats)
    assert verdicts(runs, ["vit"], share=0.95)[0].outcome == "not supported"


def test_zero_maps_have_no_share_and_images_are_paired(tmp_path):
    runs = [run_with(tmp_path, "vit", 1, 0.7, zero=5), run_with(tmp_path, "vit", 2, 0.7)]
    found = shares(runs, METHOD)
    assert found.shape == (2, 60)
    assert np.isnan(found[0]).sum() == 5
    assert area(runs, METHOD) == pytest.approx(0.4)


def test_what_is_missing_is_named(tmp_path):
    runs = [run_with(tmp_path, "vit", seed, 0.7) for seed in (1, 2)]
    (vit,) = verdicts(runs, ["vit"])
    assert (vit.outcome, vit.kind, vit.missing) == ("undecided", "missing", ["vit-100pct-seed3"])
    (vit,) = verdicts(runs, ["vit"], method="occlusion")
    assert (vit.outcome, vit.kind) == ("undecided", "missing")
    (other,) = verdicts([run_with(tmp_path, "cnn", s, 0.7) for s in (1, 2, 3)], ["cnn"], method="x")
    assert other.reason == "Missing: maps by x."
