"""grad, vjp, jvp, vmap, Jacobians, and their compositions."""

import itertools

import pytest

import aten
from aten.transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap


def close(a, b, tolerance=1e-5):
    assert tuple(a.shape) == tuple(b.shape)
    assert (a - b).abs().max().item() <= tolerance


f = lambda x: (x * x).sin().sum()
df = lambda x: 2 * x * (x * x).cos()


def test_grad():
    x = aten.randn([3, 4])
    close(grad(f)(x), df(x))
    value, g = value_and_grad(f)(x)
    close(value, f(x))
    close(g, df(x))
    g, (value, aux) = grad_and_value(lambda x, y: (f(x) * y, {"x": x}), has_aux=True)(x, 2.0)
    close(g, 2 * df(x))
    assert aux["x"].data_ptr() == x.data_ptr()
    gx, gy = grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, x)
    close(gx, x)
    close(gy, x)
    tree = grad(lambda p: (p["a"] * p["b"]).sum())({"a": x, "b": x + 1})
    close(tree["a"], x + 1)
    with pytest.raises(RuntimeError, match="return a scalar Tensor"):
        grad(lambda x: x * 2)(x)


def test_what_a_differentiated_function_may_return_and_be_given():
    x = aten.randn([3])
    pairs = ((lambda x: [x, x], "be a tuple"), (lambda x: (x, x, x), "be a tuple"), (lambda x: (x.sum(), 1), "unsupported type"))
    calls = (lambda f: grad(f, has_aux=True)(x), lambda f: vjp(f, x, has_aux=True), lambda f: jvp(f, (x,), (x,), has_aux=True))
    for (wrong, text), call in itertools.product(pairs, calls):
        with pytest.raises(RuntimeError, match=text):
            call(wrong)
    named = {"positional inputs": 1, "non-empty": (), "unique": (0, 0), "int or Tuple": [0], "must be int": (0.5,)}
    for (text, argnums), transform in itertools.product(named.items(), (grad, jacrev, jacfwd)):
        with pytest.raises(RuntimeError, match=text):
            transform(lambda x: x.sum(), argnums=argnums)(x)
    out, pull = vjp(lambda x: (x * 2, x.sum()), x)
    for given, text in ((x, "pytree"), ([x, x], "pytree"), ((x[:2], out[1]), "Mismatch in shape"), ((x, x), "Mismatch in shape")):
        with pytest.raises(RuntimeError, match=text):
            pull(given)
    close(pull((x, out[1]), True, create_graph=True)[0], 2 * x + out[1])
    close(vjp(lambda x: x.sum(), x)[1](None)[0], aten.ones([3]))
    for transform, name in ((jacrev, "jacrev"), (jacfwd, "jacfwd")):
        with pytest.raises(RuntimeError, match=f"{name}: Expected all inputs to be real"):
            transform(lambda x: x)(x + 1j)
        with pytest.raises(RuntimeError, match=f"{name}: Expected all outputs to be real"):
            transform(lambda x: x * 1j)(x)
    close(grad(lambda x: x.sum().long())(x), aten.zeros([3]))


def test_nested_gradients_do_not_mix():
    x = aten.randn([3])
    second = grad(lambda x: grad(f)(x).sum())(x)
    close(second, 2 * (x * x).cos() - 4 * x * x * (x * x).sin())
    one = aten.tensor(1.0)
    # d/dx (x * d/dy (x + y)) = 1
    close(grad(lambda x: x * grad(lambda y: x + y)(one))(aten.tensor(2.0)), one)


def test_grad_with_writes_through_views():
    def written(x):
        y = x * 1
        y[0].mul_(3.0)
        y.view(-1)[1:3] += 2
        return (y * y).sum()

    def pure(x):
        scale = aten.ones([3, 4])
        scale[0] = 3.0
        shift = aten.zeros([12])
        shift[1:3] = 2.0
        y = x * scale + shift.view(3, 4)
        return (y * y).sum()

    x = aten.randn([3, 4])
    close(grad(written)(x), grad(pure)(x))


def test_values_can_be_asked_inside_grad():
    x = aten.ones([3])
    close(grad(lambda x: x.sum() * (2 if x.sum() > 0 else 3))(x), 2 * x)


def test_vjp_and_jvp():
    w, v = aten.randn([6, 4]), aten.randn([4])
    g = lambda v: (w @ v).tanh()
    out, pull = vjp(g, v)
    (cotangent,) = pull(aten.ones([6]))
    close(out, g(v))
    close(cotangent, grad(lambda v: g(v).sum())(v))
    out, tangent = jvp(g, (v,), (aten.ones([4]),))
    close(tangent, (1 - out * out) * w.sum(1))
    close(jvp(grad(f), (v,), (aten.ones([4]),))[1], 2 * (v * v).cos() - 4 * v * v * (v * v).sin())


def test_jacobians():
    w, v = aten.randn([6, 4]), aten.randn([4])
    g = lambda v: (w @ v).tanh()
    expected = (1 - g(v) ** 2).unsqueeze(1) * w
    close(jacrev(g)(v), expected)
    close(jacfwd(g)(v), expected)
    close(hessian(f)(v), aten.diag(2 * (v * v).cos() - 4 * v * v * (v * v).sin()))


def test_vmap():
    x, y = aten.randn([5, 4]), aten.randn([5])
    close(vmap(lambda r: r * 2 + 1)(x), x * 2 + 1)
    close(vmap(lambda r, y: r + y, in_dims=(1, None), out_dims=1)(x, y), x + y.unsqueeze(1))
    close(vmap(grad(f))(x), df(x))
    close(vmap(vmap(lambda a: a.sin()))(x), x.sin())
    close(vmap(lambda r: r.sum(), chunk_size=2)(x), x.sum(1))
    w = aten.randn([5, 3, 4])
    close(vmap(lambda w, r: w @ r)(w, x), (w @ x.unsqueeze(2)).squeeze(2))


def test_vmap_writes_to_the_batch():
    x = aten.zeros([3, 2])

    def f(r):
        r.add_(1)
        return r * 2

    close(vmap(f)(x), aten.full([3, 2], 2.0))
    close(x, aten.ones([3, 2]))


def test_vmap_errors():
    x = aten.randn([5, 4])
    with pytest.raises(ValueError, match="in_dim=3"):
        vmap(lambda r: r, in_dims=3)(x)
    with pytest.raises(ValueError, match="same size"):
        vmap(lambda a, b: a + b)(x, aten.randn([3]))
    with pytest.raises(RuntimeError, match="support vmap over calling .item"):
        vmap(lambda r: r.sum().item())(x)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda r: r + aten.rand([4]))(x)
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        vmap(lambda r: aten.zeros([4]).add_(r))(x)


def test_vmap_randomness():
    x = aten.zeros([5])
    same = vmap(lambda r: r + aten.rand([3]), randomness="same")(x)
    different = vmap(lambda r: r + aten.rand([3]), randomness="different")(x)
    close(same[0], same[4], 0)
    assert (different[0] - different[4]).abs().max().item() > 0
    for mode, distinct in (("same", False), ("different", True)):
        dropped = vmap(lambda r: aten.dropout(r, 0.5, True), randomness=mode)(aten.ones([2, 64]))
        assert ((dropped[0] - dropped[1]).abs().max().item() > 0) == distinct


def test_tangents_of_what_is_written_twice_in_one_place():
    x, t, i = aten.tensor([0.0, 1.0, 2.0]), aten.tensor([2.0, 3.0, 4.0]), aten.tensor([1, 1, 2])
    for f, want in (
        (lambda x: aten.zeros(3).index_put((i,), x * 2), [0, 6, 8]),
        (lambda x: x.index_put((i,), aten.ones(3)), [2, 0, 0]),
        (lambda x: x.index_put((i,), x, accumulate=True), [2, 8, 8]),
        (lambda x: aten.zeros(3).scatter(0, i, x * 2), [0, 6, 8]),
        (lambda x: x.scatter(0, i, 5.0), [2, 0, 0]),
    ):
        assert jvp(f, (x,), (t,))[1].tolist() == want
        assert vmap(lambda t, f=f: jvp(f, (x,), (t,))[1])(aten.stack([t, t])).tolist() == [want, want]
