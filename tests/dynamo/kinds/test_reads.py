"""What is read of the ambient state, of aliases and of leaves holds only as long as it holds."""

import weft
from tests.dynamo.kinds.alike import alike


def test_flags_are_guarded_where_there_is_no_graph():
    def f(x):
        grad, dtype = weft.is_grad_enabled(), weft.get_default_dtype()
        print(end="")
        return x * (2 if grad else 3), dtype

    compiled = weft.compile(f, backend="eager")
    for grad in (True, False, True):
        with weft.set_grad_enabled(grad):
            assert compiled(weft.ones(1))[0].item() == f(weft.ones(1))[0].item()
    try:
        for dtype in (weft.float32, weft.float64):
            weft.set_default_dtype(dtype)
            assert compiled(weft.ones(1))[1] is dtype
    finally:
        weft.set_default_dtype(weft.float32)


def test_the_default_dtype_of_what_nobody_uses():
    compiled = weft.compile(lambda x: (x + 1, weft.tensor(1.5).dtype), backend="eager")
    no_graph = weft.compile(lambda v: str(weft.tensor(v).dtype), backend="eager")
    try:
        for dtype in (weft.float32, weft.float64, weft.float32):
            weft.set_default_dtype(dtype)
            assert compiled(weft.ones(1))[1] is dtype and no_graph(1.5) == str(dtype)
    finally:
        weft.set_default_dtype(weft.float32)


def test_the_number_of_threads():
    compiled = weft.compile(lambda x: x * weft.get_num_threads(), backend="eager")
    before = weft.get_num_threads()
    try:
        for n in (1, 2, 1):
            weft.set_num_threads(n)
            assert compiled(weft.ones(1)).item() == n
    finally:
        weft.set_num_threads(before)


def test_two_arguments_that_are_one_object():
    def grows(a, b, x):
        a.append(1)
        return x * len(b)

    def stores(a, b, x):
        a["k"] = 3
        return x * b["k"]

    for f, make in ((grows, lambda: [0]), (stores, lambda: {"k": 2}), (lambda a, b, x: (a.add(5), x * len(b)), lambda: {1})):
        compiled = weft.compile(f, backend="eager")
        for alias in (False, True, False):
            results = []
            for g in (f, compiled):
                one = make()
                results.append(str(g(one, one if alias else make(), weft.ones(1))))
            assert results[0] == results[1]


def test_leaves():
    leaf = weft.ones(2, requires_grad=True)
    inner = leaf * 2

    def f(t):
        return t.is_leaf, t.grad_fn is None if t.is_leaf else "made", t * 1

    compiled = weft.compile(f, backend="eager")
    for t in (leaf, inner, leaf, weft.ones(2)):
        assert compiled(t)[:2] == f(t)[:2]


def test_int_and_float_in_turn_compile_twice_each():
    compiled = weft.compile(lambda x, v: x * v, backend="eager")
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    compiled = weft.compile(lambda x, v: x * v, backend=backend)
    for n in range(10):
        for v in (n + 2, n + 2.5):
            assert compiled(weft.ones(1), v).item() == v
    assert len(graphs) == 4  # each kind of number once as a constant and once as a symbol


def test_a_plain_call_of_everything_in_one_place():
    alike(
        lambda x: (x.is_leaf, x.requires_grad, weft.is_grad_enabled(), weft.is_inference_mode_enabled()),
        (weft.ones(1),),
        fullgraph=True,
    )


def test_parts_of_complex_tensors():
    z = weft.tensor([1 + 2j, 3 - 1j])

    def f(z, x):
        w = (z * z.conj()).real
        return w.sum(), z.clone().imag + 1, x.real * 2, hasattr(z, "real"), z.imag - x

    alike(f, (z, weft.ones(2)))


def test_conditions_with_numbers_beyond_64_bits():
    """No native code tells them: they hold for the sizes and numbers that they were found to hold for."""

    def f(x, n):
        if n > 2**70 or x.shape[0] > 2**70:
            return x + 1
        return x + n % 5

    alike(f, *((weft.ones(size), n) for size, n in ((3, 3), (3, 4), (5, 6), (7, 2**71), (7, 2**63), (3, 3))))
