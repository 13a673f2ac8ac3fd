"""All tests of one pair of models on 3,589 images against SciPy's paired permutation test alone."""

import itertools

import numpy as np
import scipy.stats

from benchmarks.harness import Row, compare
from fer_lightning.statistics import Comparison, bonferroni, holm, mcnemar, sign_flip_test
from fer_lightning.statistics import compare as compare_models

IMAGES = 3589  # FER-2013's test images
SHOWN = 200  # images of a focus table
RESAMPLES = 10_000
SEEDS = itertools.count()  # another for each call, so that no resample is kept from the last one
BATCH = 500  # of SciPy's resamples at once; all would take 287 MB


def answers(seeds: int, n: int = IMAGES) -> tuple[np.ndarray, np.ndarray]:
    """Right and wrong of two models that differ as CNN and ViT do."""
    rng = np.random.default_rng(0)
    return rng.random((seeds, n)) < 0.52, rng.random((seeds, n)) < 0.40


def log_lfr(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Real values of two models, a tenth of them missing."""
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.2, 1, n), rng.normal(0, 1, n)
    first[: n // 10] = np.nan
    return first, second


def all_tests(seeds: int, focus_images: int) -> list[Comparison]:
    """Intervals over images and seeds, permutation test, McNemar, both d, Bonferroni and Holm."""
    first, second = answers(seeds)
    values = log_lfr(focus_images)
    fresh = next(SEEDS)
    accuracy = compare_models(first, second, 0.995, RESAMPLES, fresh)
    focus = compare_models(*values, 0.995, RESAMPLES, fresh)
    shares = mcnemar(first[0], second[0])
    p = [accuracy.p, focus.p, shares.p]
    bonferroni(p), holm(p)
    return [accuracy, focus]


def difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.mean(x - y, axis=axis)


def scipy_alone() -> float:
    first, second = answers(1)
    return scipy.stats.permutation_test(
        (first[0].astype(float), second[0].astype(float)),
        difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=BATCH,
        rng=0,
    ).pvalue


def measure() -> list[Row]:
    first, second = answers(1)
    np.testing.assert_allclose(sign_flip_test(first[0] * 1.0 - second[0]), scipy_alone(), atol=0.02)
    # in a list, because a float would be taken for seconds
    baseline = (lambda: [scipy_alone()], 2.0, 3)
    return [
        compare(
            f"all tests of a pair, {IMAGES:,} images, 1 seed",
            lambda: all_tests(1, SHOWN),
            *baseline,
        ),
        compare("the same, 3 seeds", lambda: all_tests(3, SHOWN), *baseline),
        compare(f"the same, and {IMAGES:,} real values", lambda: all_tests(3, IMAGES), *baseline),
    ]


if __name__ == "__main__":
    from benchmarks.harness import print_table

    print_table(measure())
