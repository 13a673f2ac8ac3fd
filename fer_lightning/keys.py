"""Every name that is logged, once: ``<stage>/<name>``."""

from typing import Literal

Stage = Literal["train", "val", "test"]

LOSS = "loss"
ACC = "acc"
BEST_ACC = "best_acc"  # val/acc of the best epoch, once it is known
MACRO_F1 = "macro_f1"
NLL = "nll"
ECE = "ece"
ECE_FLOOR = "ece_floor"
RECALL = "recall"  # followed by the class: val/recall/happy
TOP_CLASS_SHARE = "top_class_share"  # share of predictions in the most predicted class
PREDICTION_ENTROPY = "prediction_entropy"  # of the predicted-class histogram, in bits
IMAGES_PER_SECOND = "images_per_second"
EPOCH_SECONDS = "epoch_seconds"
LEARNING_RATE = "lr"
WEIGHT_ENTROPY = "weight_entropy"  # of adaptive weights in a batch; 1 if all are alike
WEIGHT_LOSS_CORRELATION = "weight_loss_correlation"  # of ranks, over the images of an epoch
SQUARED_NORM = "squared_norm"  # of the parameters that learn
ATTENTION_LOSS = "attention_loss"  # the regulariser's term, before its weight

# of Grad-CAM maps, zero maps left out; followed by the region: val/lfr/key
LFR = "lfr"  # mean
LFR_MEDIAN = "lfr_median"
LFR_LOG = "lfr_log"  # mean of the natural logarithm
LFR_SHARE = "lfr_share"  # share of images with at least 1
LSI = "lsi"
BACKGROUND = "background"  # share of heat outside the face
ZERO_MAPS = "zero_maps"  # number of maps without any heat
EMBEDDING = "embedding"  # followed by the measure: val/embedding/knn_features

FOCUS_TABLE = "test/focus_table"  # all rows of focus.csv

EPOCH = "epoch"
COMPLETED = "completed"


def key(stage: Stage, *names: str) -> str:
    """Join a stage and a name to the logged key.

    >>> key("val", ACC), key("val", RECALL, "happy")
    ('val/acc', 'val/recall/happy')
    """
    return "/".join((stage, *names))
