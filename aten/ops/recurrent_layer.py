"""All steps of one layer of a recurrent network in one direction, as one op: nothing of a step is a tensor of its own."""

from typing import Any

from aten.meta import Meta
from aten.op import op, ops
from aten.ops.by_definition import by_definition

_HIDDEN = ["fused", "function_only", "hidden"]
_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


@op(
    "recurrent_layer(Tensor parts, Tensor h0, Tensor? c0, Tensor weight, Tensor? bias, str kind, bool reverse) -> (Tensor states, "
    "Tensor cells, Tensor kept)",
    tags=_HIDDEN,
)
def recurrent_layer(parts: Meta, h0: Meta, c0: Any, weight: Meta, bias: Any, kind: str, reverse: bool) -> tuple[Meta, Meta, Meta]:
    """The states [T, N, H] after all steps, and the cells of an LSTM, from the input's parts of the gates [T, N, gates * H].

    `reverse`: the last step is first. `kept` is for derivatives: the gates of an LSTM; of a GRU those, and the product that its
    reset gate weighs.
    """
    steps, n, h = parts.sizes[0], parts.sizes[1], h0.sizes[-1]
    made = lambda *sizes: Meta.contiguous(sizes, parts.dtype, parts.device)
    none = made(0)
    kept = none if kind.startswith("rnn") else made(steps, n, 4 * h)
    return made(steps, n, h), made(steps, n, h) if kind == "lstm" else none, kept


@op(
    "recurrent_layer_backward(Tensor grad, Tensor? grad_cells, Tensor parts, Tensor h0, Tensor? c0, Tensor weight, Tensor? bias, "
    "Tensor states, Tensor cells, Tensor kept, str kind, bool reverse) -> (Tensor, Tensor, Tensor, Tensor)",
    tags=_HIDDEN,
)
def recurrent_layer_backward(
    grad: Meta,
    grad_cells: Any,
    parts: Meta,
    h0: Meta,
    c0: Any,
    weight: Meta,
    bias: Any,
    states: Meta,
    cells: Meta,
    kept: Meta,
    kind: str,
    reverse: bool,
) -> tuple[Meta, Meta, Meta, Meta]:
    """The gradients of `parts`, of the products with `weight` (of a GRU; else they are those of `parts`), of h0 and of c0."""
    made = lambda *sizes: Meta.contiguous(sizes, parts.dtype, parts.device)
    none = made(0)
    return (
        made(*parts.sizes),
        made(*parts.sizes) if kind == "gru" else none,
        made(*h0.sizes),
        none if c0 is None else made(*c0.sizes),
    )


def _each(parts: Any, h0: Any, c0: Any, products_of: Any, kind: str, reverse: bool) -> tuple[Any, Any, Any]:
    """What the steps make; products_of(step, state): the recurrent part of its gates."""
    h, c, made = h0, c0, []
    steps = ops.unbind(parts, 0)
    for t, x in reversed([*enumerate(steps)]) if reverse else enumerate(steps):
        product = products_of(t, h)
        if kind == "lstm":
            i, f, g, o = ops.chunk(x + product, 4, 1)
            i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
            c = f * c + i * g
            h = o * c.tanh()
            made.append((h, c, ops.cat([i, f, g, o], 1)))
        elif kind == "gru":
            xr, xz, xn = ops.chunk(x, 3, 1)
            hr, hz, hn = ops.chunk(product, 3, 1)
            r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
            n = (xn + r * hn).tanh()
            h = n + z * (h - n)
            made.append((h, None, ops.cat([r, z, n, hn], 1)))
        else:
            h = (x + product).tanh() if kind == "rnn_tanh" else ops.relu(x + product)
            made.append((h, None, None))
    none = parts.new_zeros([0])
    rows = [list(r) for r in zip(*(made[::-1] if reverse else made))] if made else [[None], [None], [None]]
    states, cells, kept = (none if r[0] is None else ops.stack(r, 0) for r in rows)
    return (states if made else parts.new_zeros([0, *h0.shape])), cells, kept


@recurrent_layer.decompose
def _(parts, h0, c0, weight, bias, kind, reverse):
    return _each(parts, h0, c0, lambda t, h: ops.linear(h, weight, bias), kind, reverse)


@recurrent_layer_backward.decompose
def _(grad, grad_cells, parts, h0, c0, weight, bias, states, cells, kept, kind, reverse):
    from aten.transforms.reverse_mode import vjp  # which is made of ops

    seen = ops.zeros([parts.shape[0], parts.shape[1], weight.shape[0]], dtype=parts.dtype, device=parts.device)

    def made(parts: Any, seen: Any, h0: Any, *c0: Any) -> Any:
        products = ops.unbind(seen, 0)
        cell = c0[0] if c0 else None
        out = _each(parts, h0, cell, lambda t, h: ops.linear(h, weight, bias) + products[t], kind, reverse)
        return out[:2] if c0 else out[0]

    inputs = (parts, seen, h0) if c0 is None else (parts, seen, h0, c0)
    if c0 is None:
        _, pull = vjp(made, *inputs)
        found = pull(grad)
    else:
        out, pull = vjp(made, *inputs)
        found = pull((grad, ops.zeros_like(out[1]) if grad_cells is None else grad_cells))
    none = parts.new_zeros([0])
    return found[0], found[1] if kind == "gru" else none, found[2], none if c0 is None else found[3]


@recurrent_layer.vjp
def _(g, needs, parts, h0, c0, weight, bias, kind, reverse, states, cells, kept):
    grad = ops.zeros_like(states) if g[0] is None else g[0]
    of_cells = g[1] if kind == "lstm" else None
    to_parts, to_products, to_h0, to_c0 = recurrent_layer_backward(
        grad, of_cells, parts, h0, c0, weight, bias, states, cells, kept, kind, reverse
    )
    to_products = to_products if kind == "gru" else to_parts
    to_weight = to_bias = None
    if needs[3]:
        first = h0.unsqueeze(0)
        before = ops.cat([states[1:], first], 0) if reverse else ops.cat([first, states[:-1]], 0)
        flat = lambda t: t.reshape([-1, t.shape[2]])
        to_weight = ops.mm(flat(to_products).t(), flat(before))
    if needs[4]:
        to_bias = ops.sum(to_products, [0, 1])
    return to_parts, to_h0, to_c0 if c0 is not None else None, to_weight, to_bias


for _made in (recurrent_layer, recurrent_layer_backward):
    _made.kernel(by_definition(lambda *args, made=_made: made.decompose_fn(*args)))
