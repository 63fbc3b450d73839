"""Neural networks: modules, functions on them, initial values."""
from aten import Parameter
from weft.nn import functional, init, utils
from weft.nn.activation import (
    CELU, ELU, GELU, GLU, SELU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid, LogSoftmax, Mish, PReLU, ReLU,
    ReLU6, Sigmoid, SiLU, Softmax, Softmin, Softplus, Softshrink, Softsign, Tanh, Tanhshrink,
)
from weft.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from weft.nn.linear import Bilinear, Embedding, Flatten, Identity, Linear, Unflatten
from weft.nn.loss import (
    BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, KLDivLoss, L1Loss, MSELoss, NLLLoss, SmoothL1Loss,
)
from weft.nn.module import Module
from weft.nn.normalization import Dropout, LayerNorm, RMSNorm

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "Bilinear", "CELU", "CrossEntropyLoss", "Dropout", "ELU", "Embedding", "Flatten", "GELU", "GLU",
    "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "HuberLoss", "Identity", "KLDivLoss", "L1Loss", "LayerNorm", "LeakyReLU",
    "Linear", "LogSigmoid", "LogSoftmax", "MSELoss", "Mish", "Module", "ModuleDict", "ModuleList", "NLLLoss", "PReLU", "Parameter",
    "ParameterDict", "ParameterList", "RMSNorm", "ReLU", "ReLU6", "SELU", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Unflatten", "functional", "init", "utils",
]
