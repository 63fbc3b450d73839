"""Recurrent networks: RNN, LSTM, GRU over whole or packed sequences, and their cells."""

from __future__ import annotations

import math
import warnings
from typing import Any

import aten
from aten import Parameter, Tensor, is_autocast_enabled
from aten.compiling import reads_numbers_of
from weft.nn import init
from weft.nn.module import Module
from weft.nn.utils.rnn import PackedSequence

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    warnings.warn(
        "apply_permutation is deprecated, please use tensor.index_select(dim, permutation) instead", FutureWarning, stacklevel=2
    )
    return _permuted(tensor, permutation, dim)


def _permuted(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


def _uniform(module: Module, hidden_size: int) -> None:
    """All parameters in ±1 / sqrt(hidden_size)."""
    bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNBase(Module):
    """`num_layers` recurrences on top of each other, each in one direction or in both.

    Parameters weight_ih_l0 (gates * hidden, input), weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0 (projection), with
    `_reverse` for the other direction. Called with (T, N, input), (N, T, input) with `batch_first`, (T, input) or packed sequences.
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size",
    ]  # fmt: skip

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        _check_arguments(mode, input_size, hidden_size, num_layers, dropout, proj_size)
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        make = lambda *sizes: Parameter(aten.empty(sizes, device=device, dtype=dtype))
        rows, out = _GATES[mode] * hidden_size, proj_size or hidden_size
        directions = 2 if bidirectional else 1
        for k in range(num_layers):
            for suffix in ("", "_reverse")[:directions]:
                made = {"weight_ih": make(rows, input_size if k == 0 else out * directions), "weight_hh": make(rows, out)}
                if bias:
                    made.update(bias_ih=make(rows), bias_hh=make(rows))
                if proj_size:
                    made["weight_hr"] = make(proj_size, hidden_size)
                names = [f"{name}_l{k}{suffix}" for name in made]
                for name, parameter in zip(names, made.values()):
                    setattr(self, name, parameter)
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Does nothing: the weights are read where they are."""

    def reset_parameters(self) -> None:
        _uniform(self, self.hidden_size)

    # -------------------------------------------------------------------------------------------------- checks
    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        dims = 2 if batch_sizes is not None else 3
        weight = self._parameters.get("weight_ih_l0")
        if weight is not None and weight.dtype is not input.dtype and not is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        n = int(batch_sizes[0]) if batch_sizes is not None else input.size(0) if self.batch_first else input.size(1)
        return self._states(), n, self.proj_size or self.hidden_size

    def _states(self) -> int:
        return self.num_layers * (2 if self.bidirectional else 1)

    def check_hidden_size(self, hx: Tensor, expected: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}") -> None:
        if tuple(hx.size()) != expected:
            raise RuntimeError(msg.format(expected, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else _permuted(hx, permutation)

    def _zeros(self, like: Tensor, n: int) -> Any:
        return aten.zeros(self._states(), n, self.hidden_size, dtype=like.dtype, device=like.device)

    def _run(self, arguments: list[Any]) -> tuple[Tensor, Any]:
        """The op of the mode on (input, …): the output and the last state."""
        output, last = getattr(aten, self.mode.lower())(*arguments)
        return output, last

    def _check_dims(self, hx: Any, batched: bool) -> None:
        if batched:
            if hx.dim() != 3:
                raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")
        elif hx.dim() != 2:
            raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")

    def _each(self, change: Any, hx: Any) -> Any:
        """`change` of the state's tensors."""
        return change(hx)

    # -------------------------------------------------------------------------------------------------- calling
    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            output, last = self._forward_packed(data, batch_sizes, hx if hx is None else self.permute_hidden(hx, sorted_indices))
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(last, unsorted_indices)
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            hx = self._zeros(input, input.size(0 if self.batch_first else 1))
        else:
            self._check_dims(hx, batched)
            hx = hx if batched else self._each(lambda h: h.unsqueeze(1), hx)
        self.check_forward_args(input, hx, None)
        output, last = self._run([input, hx, *self._settings(), self.batch_first])
        if not batched:
            output, last = output.squeeze(0 if self.batch_first else 1), self._each(lambda h: h.squeeze(1), last)
        return output, last

    def _settings(self) -> tuple[Any, ...]:
        return self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    @reads_numbers_of(2)
    def _forward_packed(self, data: Tensor, batch_sizes: Tensor, hx: Any) -> tuple[Tensor, Any]:
        if hx is None:
            hx = self._zeros(data, int(batch_sizes[0]))
        self.check_forward_args(data, hx, batch_sizes)
        return self._run([data, batch_sizes, hx, *self._settings()])

    def extra_repr(self) -> str:
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        shown = [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *shown])

    def __setstate__(self, state: dict) -> None:
        super().__setstate__({"proj_size": 0, **{k: v for k, v in state.items() if k != "_flat_weights"}})
        if self._all_weights and not isinstance(self._all_weights[0][0], str):
            self._all_weights = [
                [name for name in self._parameters if name.endswith(f"_l{k}{suffix}")]
                for k in range(self.num_layers)
                for suffix in ("", "_reverse")[: 2 if self.bidirectional else 1]
            ]
        self._flat_weights_names = [name for names in self._all_weights for name in names]


def _check_arguments(mode: str, input_size: Any, hidden_size: Any, num_layers: int, dropout: Any, proj_size: int) -> None:
    if not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than "
            f"1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu with nonlinearity="relu" (Elman 1990)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        _no_projection(kwargs)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """r, z = sigmoid(…); n = tanh(W_in x + b_in + r * (W_hn h + b_hn)); h = (1 - z) * n + z * h (Cho et al. 2014)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        _no_projection(kwargs)
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)


def _no_projection(kwargs: dict) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if kwargs:
        raise TypeError(f"__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")


class LSTM(RNNBase):
    """c = sigmoid(f) * c + sigmoid(i) * tanh(g); h = sigmoid(o) * tanh(c), projected to proj_size if asked to (Hochreiter,
    Schmidhuber 1997; Sak et al. 2014). Its state is the pair (h, c)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype
        )

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        states, n, _ = self.get_expected_hidden_size(input, batch_sizes)
        return states, n, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        for name, h, expected in zip(
            ("hidden[0]", "hidden[1]"), hidden, (self.get_expected_hidden_size, self.get_expected_cell_size)
        ):
            self.check_hidden_size(h, expected(input, batch_sizes), f"Expected {name} size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else (_permuted(hx[0], permutation), _permuted(hx[1], permutation))

    def _zeros(self, like: Tensor, n: int) -> Any:
        make = lambda size: aten.zeros(self._states(), n, size, dtype=like.dtype, device=like.device)
        return make(self.proj_size or self.hidden_size), make(self.hidden_size)

    def _run(self, arguments: list[Any]) -> tuple[Tensor, Any]:
        output, h, c = aten.lstm(*arguments)
        return output, (h, c)

    def _check_dims(self, hx: Any, batched: bool) -> None:
        dims, kind = (3, "batched") if batched else (2, "unbatched")
        if hx[0].dim() != dims or hx[1].dim() != dims:
            raise RuntimeError(
                f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _each(self, change: Any, hx: Any) -> Any:
        return change(hx[0]), change(hx[1])


class RNNCellBase(Module):
    """Weights and biases of one step."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        make = lambda *sizes: Parameter(aten.empty(sizes, device=device, dtype=dtype))
        self.weight_ih = make(num_chunks * hidden_size, input_size)
        self.weight_hh = make(num_chunks * hidden_size, hidden_size)
        self.register_parameter("bias_ih", make(num_chunks * hidden_size) if bias else None)
        self.register_parameter("bias_hh", make(num_chunks * hidden_size) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _uniform(self, self.hidden_size)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", bias={self.bias}" if self.bias is not True else ""
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _checked(self, tensor: Tensor, what: str) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {tensor.dim()}D instead")

    def _step(self, op: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        self._checked(input, "input")
        if hx is not None:
            self._checked(hx, "hidden")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            hx = aten.zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device)
        elif not batched:
            hx = hx.unsqueeze(0)
        made = op(x, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return made if batched else made.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of RNN: (N, input) and (N, hidden) → (N, hidden)."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(aten.rnn_tanh_cell if self.nonlinearity == "tanh" else aten.rnn_relu_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of LSTM: (N, input) and a pair of (N, hidden) → a pair of (N, hidden)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._checked(input, "input")
        if hx is not None:
            if len(hx) != 2:
                raise RuntimeError("lstm_cell expects two hidden states")
            for k, h in enumerate(hx):
                self._checked(h, f"hx[{k}]")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            zeros = aten.zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device)
            hx = (zeros, zeros)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        h, c = aten.lstm_cell(x, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of GRU: (N, input) and (N, hidden) → (N, hidden)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(aten.gru_cell, input, hx)
