"""Optimizers, and schedules of their learning rates."""

from weft.optim import lr_scheduler, swa_utils
from weft.optim._adafactor import Adafactor
from weft.optim._muon import Muon
from weft.optim.adadelta import Adadelta
from weft.optim.adagrad import Adagrad
from weft.optim.adam import Adam
from weft.optim.adamax import Adamax
from weft.optim.adamw import AdamW
from weft.optim.asgd import ASGD
from weft.optim.lbfgs import LBFGS
from weft.optim.nadam import NAdam
from weft.optim.optimizer import Optimizer
from weft.optim.radam import RAdam
from weft.optim.rmsprop import RMSprop
from weft.optim.rprop import Rprop
from weft.optim.sgd import SGD
from weft.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]
