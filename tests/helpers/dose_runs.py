"""Runs of a study that varies a planted cue, with known focus values and no training."""

import json

import numpy as np
from fake_runs import fake_run

from fer_lightning.runs.run import read_run

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)


def dose_run(root, model, dose, seed, follows=True):
    """A run whose mask AUC falls with the dose by Grad-CAM, and does not by occlusion."""
    folder = fake_run(
        root, f"{model}.strength{dose}", 0.1, seed, fingerprint=f"{int(100 * dose):016d}"
    )
    cell = {"model": f"{model}.strength{dose}", "fraction": 0.1, "seed": seed, "identity": "i"}
    varied = {"model": model, "option": "data.cue.strength", "value": dose}
    (folder / "cell.json").write_text(json.dumps(cell | {"varied": varied}))
    rng = np.random.default_rng([seed, int(100 * dose)])
    lines = ["method,row,resolution,lfr_key,lsi_key,mass_key,auc_key,background_share"]
    for method in ("grad_cam", "occlusion"):
        middle = 0.9 - 0.6 * dose if method == "grad_cam" and follows else 0.5
        for row in range(60):
            auc = middle + rng.normal(0, 0.02)
            lines.append(f"{method},{row},matched,{auc},,{auc},{auc},{1 - auc}")
    (folder / "focus_samples.csv").write_text("\n".join(lines) + "\n")
    (folder / "focus.csv").write_text(
        "method,source,region\ngrad_cam,model,key\nocclusion,model,key\n"
    )
    (folder / "hiding.csv").write_text(
        f"method,region,patch,fill,acc_drop\ngrad_cam,background,region,mean,{dose / 2}\n"
        "grad_cam,background,random,mean,0.1\n"
    )
    return read_run(folder)
