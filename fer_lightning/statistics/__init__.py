"""Statistics of models that answered the same images: intervals, tests, effect sizes, families.

NumPy and SciPy only, so that a report is rebuilt without loading torch. Values of several training
seeds are (S, n) arrays whose columns are the same images for every seed.
"""

from fer_lightning.statistics.bootstrap import (
    ALPHA,
    RESAMPLES,
    Interval,
    bonferroni,
    bootstrap,
    family_level,
    family_resamples,
    holm,
    resampled_means,
)
from fer_lightning.statistics.comparison import (
    Comparison,
    McNemar,
    cohen_d,
    cohen_d_of,
    cohen_d_paired,
    compare,
    compare_differences,
    compare_sum,
    mcnemar,
    sign_flip_test,
    smallest_p,
    unpaired_d,
)
from fer_lightning.statistics.trainings import (
    NewTrainings,
    new_trainings,
    power_of,
    smallest_lead,
    trainings_needed,
)

__all__ = [
    "ALPHA",
    "RESAMPLES",
    "Comparison",
    "Interval",
    "McNemar",
    "NewTrainings",
    "bonferroni",
    "bootstrap",
    "cohen_d",
    "cohen_d_of",
    "cohen_d_paired",
    "compare",
    "compare_differences",
    "compare_sum",
    "family_level",
    "family_resamples",
    "holm",
    "mcnemar",
    "new_trainings",
    "power_of",
    "resampled_means",
    "sign_flip_test",
    "smallest_lead",
    "smallest_p",
    "trainings_needed",
    "unpaired_d",
]
