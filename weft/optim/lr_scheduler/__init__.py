"""Schedules of the learning rate: each sets `lr` of every group when its `step` is called, once an epoch or a batch."""

from weft.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from weft.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from weft.optim.lr_scheduler.cyclic import CyclicLR, OneCycleLR
from weft.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from weft.optim.lr_scheduler.plateau import ReduceLROnPlateau
from weft.optim.lr_scheduler.scheduler import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler

__all__ = [
    "EPOCH_DEPRECATION_WARNING",
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]

for _name in __all__:
    if isinstance(_class := globals()[_name], type):
        _class.__module__ = __name__  # where programs and saved files look for it
