"""Recurrent networks (RNN, LSTM, GRU) and their cells, as composites: one product for the input part of all steps."""

from collections.abc import Callable
from typing import Any

from aten import dtype as dtypes
from aten.errors import DataDependentError
from aten.op import composite, ops
from aten.records import record
from aten.shapes import is_empty

State = tuple[Any, ...]


# ----------------------------------------------------------------------------------------------------------- steps
@record(frozen=True)
class Kind:
    """A step (input part [N, gates * H], state, recurrent weight and bias) -> state. `joined`: the recurrent bias is a plain
    summand of the input part and may be added there, for all steps at once."""

    step: Callable[[Any, State, Any, Any], State]
    joined: bool = True


def _tanh(x: Any, state: State, weight: Any, bias: Any) -> State:
    return (_plus_product(x, state[0], weight, bias).tanh(),)


def _relu(x: Any, state: State, weight: Any, bias: Any) -> State:
    return (ops.relu(_plus_product(x, state[0], weight, bias)),)


def _lstm(x: Any, state: State, weight: Any, bias: Any) -> State:
    gates = _plus_product(x, state[0], weight, bias)
    i, f, g, o = ops.chunk(gates, 4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru(x: Any, state: State, weight: Any, bias: Any) -> State:
    h = state[0]
    xr, xz, xn = ops.chunk(x, 3, 1)
    hr, hz, hn = ops.chunk(ops.linear(h, weight, bias), 3, 1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return (n + z * (h - n),)


def _plus_product(x: Any, h: Any, weight: Any, bias: Any) -> Any:
    result = ops.addmm(x, h, weight.t())
    return result if bias is None else result + (bias if bias.dtype is result.dtype else ops.cast(bias, result.dtype))


_KINDS = {"rnn_tanh": Kind(_tanh), "rnn_relu": Kind(_relu), "lstm": Kind(_lstm), "gru": Kind(_gru, joined=False)}


# ---------------------------------------------------------------------------------------------------------- layers
def _direction(name: str, steps: Any, initial: State, weights: Any, backwards: bool) -> tuple[Any, State]:
    """The outputs of all steps in order of time (a list, or one tensor), and the last state.

    weights: w_ih, w_hh, b_ih, b_hh, w_hr (None: not there).

    steps: the inputs [N, F] by time, one tensor [T, N, F], or (data, sizes) of a packed sequence, whose N fall with time.
    """
    kind = _KINDS[name]
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    if kind.joined and b_ih is not None:
        b_ih, b_hh = b_ih + b_hh, None
    packed = isinstance(steps, tuple)
    parts = ops.linear(steps[0] if packed else steps, w_ih, b_ih)
    if not packed and w_hr is None and _is_one_kernel(parts, initial, w_hh, b_hh):
        h, c = initial if len(initial) > 1 else (initial[0], None)
        states, cells, _ = ops.recurrent_layer(parts, h, c, w_hh, b_hh, name, backwards)
        last = 0 if backwards else -1
        return states, (states[last],) if c is None else (states[last], cells[last])
    parts = ops.split(parts, steps[1], 0) if packed else ops.unbind(parts, 0)
    state, outputs, ended = initial, [], []
    if packed and backwards:
        state = tuple(s[: steps[1][-1]] for s in initial)
    for x in reversed(parts) if backwards else parts:
        if packed:
            state = _resized(state, x.shape[0], initial, ended)
        state = kind.step(x, state, w_hh, b_hh)
        if w_hr is not None:
            state = (ops.linear(state[0], w_hr), *state[1:])
        outputs.append(state[0])
    if ended:
        state = tuple(ops.cat([s, *[e[k] for e in reversed(ended)]], 0) for k, s in enumerate(state))
    return (outputs[::-1] if backwards else outputs), state


def _is_one_kernel(parts: Any, initial: State, weight: Any, bias: Any) -> bool:
    """Whether there is one for all steps: floats of one dtype, at least one step, one sequence and one state."""
    given = [*initial, weight, *([] if bias is None else [bias])]
    of_one = all(t.dtype is parts.dtype for t in given) and parts.dtype in (dtypes.float32, dtypes.float64)
    return of_one and parts.ndim == 3 and not any(is_empty(s) for s in (*parts.shape, weight.shape[1]))


def _resized(state: State, rows: int, initial: State, ended: list[State]) -> State:
    """The state of as many sequences: those that are over go to `ended`, those that begin come from `initial`."""
    have = state[0].shape[0]
    if rows < have:
        ended.append(tuple(s[rows:] for s in state))
        return tuple(s[:rows] for s in state)
    return state if rows == have else tuple(ops.cat([s, i[have:rows]], 0) for s, i in zip(state, initial))


def _weights(params: list[Any], has_biases: bool, projected: bool) -> list[tuple[Any, ...]]:
    """params, cut by layer and direction."""
    each = 2 + 2 * has_biases + projected
    rows = [list(params[k : k + each]) for k in range(0, len(params), each)]
    return [(*row[:2], *(row[2:4] if has_biases else (None, None)), row[-1] if projected else None) for row in rows]


def _network(
    name: str, x: Any, sizes: list[int] | None, initial: State, rows: Any, num_layers: int, dropout: float, train: bool, both: bool
) -> tuple[Any, State]:
    """x: [T, N, F], or packed [sum of sizes, F]. initial: each [layers * directions, N, H]."""
    directions = 2 if both else 1
    finals = []
    for k in range(num_layers):
        outputs = []
        for d in range(directions):
            at = k * directions + d
            steps = x if sizes is None else (x, sizes)
            found, last = _direction(name, steps, tuple(s[at] for s in initial), rows[at], d == 1)
            joined = found if not isinstance(found, list) else ops.stack(found, 0) if sizes is None else ops.cat(found, 0)
            outputs.append(joined)
            finals.append(last)
        x = outputs[0] if directions == 1 else ops.cat(outputs, -1)
        if dropout and train and k + 1 < num_layers:
            x = ops.dropout(x, dropout, True)
    if x is found and name != "lstm" and x.requires_grad:
        x = ops.clone(x)  # what the program changes in place is not what derivatives are made of (of an LSTM it is, as in PyTorch)
    return x, tuple(ops.stack(list(parts), 0) for parts in zip(*finals))


def _steps(batch_sizes: Any) -> list[int]:
    """How many sequences of a packed batch reach each step, as numbers: the loop over the steps is made of them."""
    try:
        return batch_sizes.tolist()
    except RuntimeError as e:
        raise DataDependentError("the steps of a packed sequence are numbers in its batch_sizes") from e


def _recurrent(name: str) -> None:
    pair = name == "lstm"
    result = "(Tensor, Tensor, Tensor)" if pair else "(Tensor, Tensor)"

    @composite(
        f"{name}(Tensor input, Any hx, Any params, Any has_biases, Any num_layers, Any dropout, Any train, Any bidirectional, "
        f"Any batch_first) -> {result}",
        tags=["function_only", "random"],
    )
    def definition(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        """All steps of all layers: the outputs of the last layer and the last states of all.

        (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or of a packed sequence (data,
        batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional).
        """
        sizes = None
        if not isinstance(has_biases, bool):
            hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, sizes = (
                params, has_biases, num_layers, dropout, train, bidirectional, batch_first, False, _steps(hx),
            )  # fmt: skip
        initial = tuple(hx) if pair else (hx,)
        projected = pair and initial[0].shape[2] != initial[1].shape[2]
        x = ops.transpose(input, 0, 1) if batch_first else input
        rows = _weights(list(params), has_biases, projected)
        out, last = _network(name, x, sizes, initial, rows, num_layers, dropout, train, bidirectional)
        return (ops.transpose(out, 0, 1) if batch_first else out), *last


for _name in _KINDS:
    _recurrent(_name)


# ----------------------------------------------------------------------------------------------------------- cells
def _check_cell(input: Any, state: State, w_ih: Any, w_hh: Any) -> None:
    if bool(input.shape[1] != w_ih.shape[1]):
        raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}")
    for h in state:
        if bool(input.shape[0] != h.shape[0]):
            raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden[0] batch size {h.shape[0]}")
        if bool(h.shape[1] != w_hh.shape[1]):
            raise RuntimeError(f"hidden[0] has inconsistent hidden_size: got {h.shape[1]}, expected {w_hh.shape[1]}")


def _cell(name: str) -> None:
    kind, pair = _KINDS[name], name == "lstm"

    @composite(
        f"{name}_cell(Tensor input, {'Tensor[]' if pair else 'Tensor'} hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
        f"Tensor? b_hh=None) -> {'(Tensor, Tensor)' if pair else 'Tensor'}",
        tags=["function_only"],
    )
    def definition(input, hx, w_ih, w_hh, b_ih, b_hh):
        """One step: the next state of [N, F] and a state of [N, H]."""
        state = tuple(hx) if pair else (hx,)
        _check_cell(input, state, w_ih, w_hh)
        made = kind.step(ops.linear(input, w_ih, b_ih), state, w_hh, b_hh)
        return made if pair else made[0]


for _name in _KINDS:
    _cell(_name)
