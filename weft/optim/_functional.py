"""The steps of all optimizers as functions on lists."""

from weft.optim.adadelta import adadelta
from weft.optim.adagrad import adagrad
from weft.optim.adam import adam
from weft.optim.adamax import adamax
from weft.optim.adamw import adamw
from weft.optim.asgd import asgd
from weft.optim.nadam import nadam
from weft.optim.radam import radam
from weft.optim.rmsprop import rmsprop
from weft.optim.rprop import rprop
from weft.optim.sgd import sgd

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "asgd",
    "nadam",
    "radam",
    "rmsprop",
    "rprop",
    "sgd",
]
