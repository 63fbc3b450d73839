"""Sparse tensors in coordinates and by rows: what they print, compute, refuse, and how gradients go through them."""

import copy
import pickle

import pytest

import weft
from weft import nn, optim


def uncoalesced(**options):
    return weft.sparse_coo_tensor([[0, 1, 1, 1], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 1.0], (2, 3), **options)


def dense(*rows):
    return weft.tensor(rows)


def test_they_print_as_pytorch_prints_them():
    assert repr(uncoalesced()) == (
        "tensor(indices=tensor([[0, 1, 1, 1],\n                       [2, 0, 2, 2]]),\n"
        "       values=tensor([3., 4., 5., 1.]),\n       size=(2, 3), nnz=4, layout=weft.sparse_coo)"
    )
    assert repr(uncoalesced().to_sparse_csr()) == (
        "tensor(crow_indices=tensor([0, 1, 3]),\n       col_indices=tensor([2, 0, 2]),\n"
        "       values=tensor([3., 4., 6.]), size=(2, 3), nnz=3, layout=weft.sparse_csr)"
    )
    assert repr(weft.sparse_coo_tensor((2, 3))) == (
        "tensor(indices=tensor([], size=(2, 0)),\n       values=tensor([], size=(0,)),\n"
        "       size=(2, 3), nnz=0, layout=weft.sparse_coo)"
    )


def test_what_they_say_of_themselves():
    s = uncoalesced()
    assert isinstance(s, weft.Tensor) and s.is_sparse and s.layout is weft.sparse_coo and not s.is_coalesced()
    assert (s._nnz(), s.sparse_dim(), s.dense_dim(), s.shape, s.numel()) == (4, 2, 0, (2, 3), 6)
    c = s.coalesce()
    assert c.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and c.values().tolist() == [3, 4, 6]
    r = s.to_sparse_csr()
    assert r.is_sparse_csr and not r.is_sparse and r.crow_indices().tolist() == [0, 1, 3] and r.t().layout is weft.sparse_csc
    wide = weft.sparse_coo_tensor([[5], [7]], [1.0], (10**9, 10**9))  # takes no memory for what is not there
    assert wide.t().coalesce().indices().tolist() == [[7], [5]]


FULL = dense([0.0, 0, 3], [4, 0, 6])
SAME = {
    "to_dense": lambda s: s.to_dense() if hasattr(s, "to_dense") else s,
    "twice": lambda s: s + s,
    "scaled": lambda s: s * 2 - s / 4,
    "product of elements": lambda s: s * s,
    "beside a dense one": lambda s: s * dense([1.0, 2, 3], [4, 5, 6]),
    "added to a dense one": lambda s: weft.ones(2, 3) + s,
    "transposed": lambda s: s.t(),
    "moved": lambda s: s.transpose(0, 1).abs().neg(),
    "root": lambda s: s.sqrt(),
    "times a matrix": lambda s: s @ weft.arange(6.0).reshape(3, 2),
    "times a vector": lambda s: s @ weft.arange(3.0),
    "a matrix times it": lambda s: weft.arange(4.0).reshape(2, 2) @ s,
    "times itself": lambda s: weft.mm(s, s.t()),
    "sum": lambda s: s.sum(),
    "sum of columns": lambda s: s.sum(0),
    "sum of rows": lambda s: s.sum(-1, keepdim=True),
    "norm": lambda s: s.norm(),
    "joined": lambda s: weft.cat([s, s], 1),
    "a row": lambda s: s[1],
    "chosen rows": lambda s: s.index_select(0, weft.tensor([1, 1, 0])),
    "unsqueezed": lambda s: s.unsqueeze(1),
    "added product": lambda s: weft.addmm(weft.ones(2, 2), s, weft.ones(3, 2), beta=2, alpha=3),
    "linear": lambda s: nn.functional.linear(weft.ones(4, 3), s, weft.ones(2)),
    "converted": lambda s: s.to(weft.float64).double(),
}


@pytest.mark.parametrize("kind", ["to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("name", SAME)
def test_they_compute_what_the_dense_one_does(name, kind):
    run, wanted = SAME[name], SAME[name](FULL)
    for s in (getattr(FULL, kind)(), uncoalesced() if kind == "to_sparse" else uncoalesced().to_sparse_csr()):
        found = run(s)
        assert tuple(found.shape) == tuple(wanted.shape)
        weft.testing.assert_close(found.to_dense(), wanted)


def test_sparse_functions():
    s = uncoalesced()
    assert weft.sparse.softmax(s, 1).values().tolist() == pytest.approx([1, 0.1192, 0.8808], abs=1e-4)
    assert weft.sparse.log_softmax(s, 0).values().tolist() == pytest.approx([-3.0486, 0, -0.0486], abs=1e-4)
    assert weft.sparse.sum(s).item() == 13 and weft.sparse.sum(s, 0).indices().tolist() == [[0, 2]]
    sampled = weft.sparse.sampled_addmm(s.to_sparse_csr(), weft.ones(2, 4), weft.ones(4, 3))
    assert sampled.is_sparse_csr and sampled.values().tolist() == [7, 8, 10]
    assert dense([1.0, 2, 3], [4, 5, 6]).sparse_mask(s.coalesce()).values().tolist() == [3, 4, 6]
    diagonals = weft.sparse.spdiags(dense([1.0, 2, 3], [4, 5, 6]), weft.tensor([0, -1]), (3, 3))
    assert diagonals.to_dense().tolist() == [[1, 0, 0], [4, 2, 0], [0, 5, 3]]


def test_gradients_go_through_them():
    x, d = FULL.clone().requires_grad_(), weft.arange(6.0).reshape(3, 2).requires_grad_()
    (weft.sparse.mm(x.to_sparse(), d) ** 2).sum().backward()
    y, e = FULL.clone().requires_grad_(), d.detach().clone().requires_grad_()
    ((y @ e) ** 2).sum().backward()
    assert weft.equal(x.grad, y.grad * (FULL != 0)) and weft.equal(d.grad, e.grad)
    s = uncoalesced(requires_grad=True)
    (s @ dense([1.0, 2], [3, 4], [5, 6])).sum().backward()
    assert s.grad.is_sparse and s.grad.to_dense().tolist() == [[0, 0, 11], [3, 0, 11]]
    assert s.is_leaf and (s * 2).grad_fn is not None


def table(rows, size=6, pad=None, bag=False):
    made = (nn.EmbeddingBag if bag else nn.Embedding)(size, 2, sparse=True, padding_idx=pad, _weight=weft.ones(size, 2))
    made(weft.tensor(rows)).sum().backward()
    return made


def test_gradients_of_tables_are_sparse():
    t = table([1, 3, 1])
    assert t.weight.grad.is_sparse and t.weight.grad._indices().tolist() == [[1, 3, 1]]
    t(weft.tensor([0])).sum().backward()
    assert t.weight.grad._nnz() == 4
    assert table([1, 3, 1], pad=1).weight.grad._indices().tolist() == [[3]]
    assert table([[1, 3]], bag=True).weight.grad.to_dense()[:, 0].tolist() == [0, 0.5, 0, 0.5, 0, 0]
    (t.weight * 2).sum().backward()  # with a dense gradient the sum is dense
    assert t.weight.grad.layout is weft.strided and t.weight.grad[:, 0].tolist() == [3, 4, 2, 3, 2, 2]
    t = table([0, 0], size=1)
    (t.weight * 2).sum().backward()
    assert t.weight.grad.tolist() == [[4, 4]]
    t = table([0, 0], size=1)
    (t.weight * 2 + t(weft.tensor([0]))).sum().backward()
    assert t.weight.grad.tolist() == [[5, 5]]


@pytest.mark.parametrize(
    "kind, options, wanted",
    [
        (optim.SGD, {}, [1, 0.6, 1, 0.8]),
        (optim.SGD, {"momentum": 0.9}, [1, 0.42, 1, 0.71]),
        (optim.Adagrad, {}, [1, 0.829289, 1, 0.829289]),
        (optim.SparseAdam, {}, [1, 0.8, 1, 0.8]),
    ],
)
def test_optimizers_step_by_sparse_gradients(kind, options, wanted):
    t = table([1, 3, 1], size=4)
    optimizer = kind(t.parameters(), lr=0.1, **options)
    optimizer.zero_grad()
    for _ in range(2):
        t.weight.grad = None
        t(weft.tensor([1, 3, 1])).sum().backward()
        optimizer.step()
    assert t.weight.detach()[:, 0].tolist() == pytest.approx(wanted, abs=1e-3)
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients"):
        optim.Adam(t.parameters()).step()


def test_they_are_copied_pickled_and_saved(tmp_path):
    loaded = []
    for name in ("s.pt", "s.safetensors"):
        weft.save({"coo": uncoalesced(), "csr": uncoalesced().to_sparse_csr()}, tmp_path / name)
        read = weft.load(tmp_path / name)
        assert read["csr"].layout is weft.sparse_csr and read["coo"]._nnz() == 4
        loaded += read.values()
    for s in (copy.deepcopy(uncoalesced()), pickle.loads(pickle.dumps(uncoalesced())), *loaded):
        assert weft.equal(s.to_dense().detach(), FULL)


REFUSED = {
    "indices": (lambda s: s.indices(), RuntimeError, "Cannot get indices on an uncoalesced tensor"),
    "numpy": (lambda s: s.numpy(), TypeError, "can't convert Sparse layout tensor to numpy"),
    "data_ptr": (lambda s: s.data_ptr(), RuntimeError, "doesn't have storage"),
    "view": (lambda s: s.view(6), NotImplementedError, "Could not run 'aten::view'"),
    "exp": (lambda s: weft.exp(s), NotImplementedError, "Could not run 'aten::exp'"),
    "dense on the right": (lambda s: s + weft.ones(2, 3), RuntimeError, "Use add\\(dense, sparse\\) instead"),
    "sizes": (lambda s: s @ weft.ones(2, 2), RuntimeError, "mat1 and mat2 shapes cannot be multiplied"),
    "division": (lambda s: s / weft.ones(2, 3), RuntimeError, "Sparse division requires a scalar"),
    "crow_indices": (lambda s: weft.ones(2).crow_indices(), RuntimeError, "but got Strided"),
    "count": (lambda s: weft.sparse_coo_tensor([[0, 1]], [1.0], (2,)), RuntimeError, "must have same nnz"),
    "place": (lambda s: weft.sparse_coo_tensor([[3]], [1.0], (2,)), RuntimeError, "size is inconsistent with indices"),
    "rows": (lambda s: weft.sparse_csr_tensor([0, 1], [0, 1], [1.0, 2.0], (2, 2)), RuntimeError, "crow_indices"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused(name):
    run, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        run(uncoalesced())


def test_compiled_code_gives_what_eager_code_gives():
    def around(s, h):
        return weft.relu(weft.sparse.mm(s, h) + 1)

    h = weft.arange(6.0).reshape(3, 2)
    assert weft.equal(weft.compile(around)(uncoalesced(), h), around(uncoalesced(), h))
    assert weft.compile(lambda h: h.to_sparse().to_dense() + 1)(h).tolist() == (h + 1).tolist()
    held = uncoalesced()
    assert weft.equal(weft.compile(lambda h: around(held, h * 2))(h), around(held, h * 2))


def test_sparse_types_of_old_make_tensors_in_coordinates():
    made = weft.sparse.FloatTensor(weft.tensor([[0, 1], [2, 0]]), weft.tensor([3.0, 4.0]), weft.Size([2, 3]))
    assert made.to_dense().tolist() == [[0, 0, 3], [4, 0, 0]]
    assert isinstance(made, weft.sparse.FloatTensor) and not isinstance(made, weft.sparse.LongTensor)
    assert weft.sparse.LongTensor(2, 3).shape == (2, 3) and weft.sparse.FloatTensor().shape == (0,)
    with pytest.raises(TypeError, match="expected float32 values"):
        weft.sparse.FloatTensor(weft.tensor([[0]]), weft.tensor([1]))


def test_spmm_of_dense_matrices_is_captured_whole():
    def layer(adjacency, x):
        return weft.relu(weft.spmm(adjacency, x))

    a, x = weft.arange(4.0).view(2, 2) - 1, weft.arange(6.0).view(2, 3)
    assert weft.equal(weft.compile(layer, fullgraph=True)(a, x), weft.relu(a @ x))
    assert weft.equal(layer(a.to_sparse(), x), weft.relu(a @ x))


@pytest.mark.parametrize("to", ["to_sparse", "to_sparse_csr"])
def test_gradients_are_asked_of_sparse_leaves_too(to):
    w = weft.nn.Parameter(getattr(weft.arange(4.0).view(2, 2), to)())
    x = weft.ones(2, requires_grad=True)
    gw, gx = weft.autograd.grad(weft.nn.functional.linear(x, w).sum(), (w, x))
    assert gw.layout is w.layout and gw.to_dense().tolist() == [[0, 1], [1, 1]] and gx.tolist() == [2, 4]
    assert weft.autograd.grad(x.sum(), (w, x), allow_unused=True)[0] is None


def test_empty_sparse_tensors_like_another():
    s = weft.eye(3).to_sparse()
    for like in (weft.zeros_like, weft.empty_like):
        made = like(s, dtype=weft.float64)
        assert (made.layout, made.dtype, made.shape, made._nnz()) == (weft.sparse_coo, weft.float64, (3, 3), 0)
        assert like(s, layout=weft.strided).layout is weft.strided and like(s.to_sparse_csr()).layout is weft.sparse_csr
        with pytest.raises(RuntimeError, match="only supported by strided tensors"):
            like(s, memory_format=weft.preserve_format)


@pytest.mark.parametrize("by_rows", [False, True])
def test_the_values_that_a_leaf_was_made_of_are_no_leaf(by_rows):
    v, places = weft.tensor([1.0, 2.0]), weft.tensor([0, 1])
    rows = lambda: weft.sparse_csr_tensor(weft.tensor([0, 1, 2]), places, v, (2, 2))
    s = rows() if by_rows else weft.sparse_coo_tensor(places[None], v, (2,))
    s.requires_grad_()
    assert s.requires_grad and s.is_leaf and not v.requires_grad
    (s.to_dense() * 2).sum().backward()
    assert s.grad.to_dense().sum() == 4 and v.grad is None
    v[0] = 7.0  # their memory is shared
    assert s.to_dense().sum() == 9
