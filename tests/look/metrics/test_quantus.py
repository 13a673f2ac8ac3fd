"""Quantus' localisation metrics as references for ours.

Quantus is no dependency. Its numbers were made in an environment of its own, which this prints:

    python -m venv quantus && quantus/bin/pip install quantus==0.6.0
    quantus/bin/python tests/look/metrics/test_quantus.py

We have neither its relevance rank accuracy nor its top-k intersection.
"""

from importlib import import_module

import numpy as np

QUANTUS = {  # version 0.6.0, abs=False, normalise=False
    "RelevanceMassAccuracy": [
        0.17829924,
        0.20856263,
        0.56836674,
        0.53857479,
        0.23847909,
        0.1884334,
    ],
    "PointingGame": [0.0, 0.0, 1.0, 1.0, 0.0, 0.0],
    "AUC": [0.40506329, 0.4912598, 0.8295289, 0.74324324, 0.35291667, 0.40117594],
}


def maps_and_masks():
    """Six maps without ties and six disks, by formula: (6, 10, 10) each."""
    pixel, k = np.arange(100), np.arange(6).reshape(6, 1)
    heat = ((37 * (k + 1) * pixel + 11 * k) % 101 / 101).reshape(6, 10, 10)
    heat = heat ** np.array([1, 2, 4, 1, 2, 4]).reshape(6, 1, 1)
    y, x = np.mgrid[:10, :10]
    masks = np.stack([(y - 4) ** 2 + (x - 3 - i) ** 2 < 6 + 2 * i for i in range(6)])
    return heat * np.where(masks, np.array([1, 1, 2, 2, 0.5, 0.5]).reshape(6, 1, 1), 1), masks


def ours(metric):
    """Return our number for each map, (6,)."""
    import torch

    heat, masks = (torch.from_numpy(array) for array in maps_and_masks())
    return metric(heat, masks, per_image=True).numpy()


def test_mass_ratio_is_relevance_mass_accuracy_over_the_area_share():
    from fer_lightning.look.metrics import mass_ratio

    share = maps_and_masks()[1].mean((1, 2))
    np.testing.assert_allclose(
        ours(mass_ratio) * share, QUANTUS["RelevanceMassAccuracy"], atol=1e-6
    )


def test_pointing_game_is_quantus():
    from fer_lightning.look.metrics import pointing_game

    assert ours(pointing_game).tolist() == QUANTUS["PointingGame"]


def test_mask_auc_is_quantus():
    from fer_lightning.look.metrics import mask_auc

    np.testing.assert_allclose(ours(mask_auc), QUANTUS["AUC"], atol=1e-6)


if __name__ == "__main__":
    quantus = import_module("quantus")  # not among the declared packages
    heat, masks = (array[:, None] for array in maps_and_masks())
    inputs = {"x_batch": np.zeros(heat.shape), "y_batch": np.zeros(6, int)}
    for name in QUANTUS:
        metric = getattr(quantus, name)(abs=False, normalise=False, disable_warnings=True)
        found = metric(model=None, **inputs, a_batch=heat, s_batch=masks.astype(int))
        print(name, np.round(np.asarray(found, dtype=float), 8).tolist())
