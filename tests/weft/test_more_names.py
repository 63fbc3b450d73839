"""Names of PyTorch's documentation that few programs use."""

import functools
import io
import mmap

import numpy as np
import pytest

import weft
from weft import library
from weft.nn.attention.flex_attention import AuxRequest, BlockMask, create_block_mask, flex_attention
from weft.nn.attention.varlen import varlen_attn
from weft.utils import benchmark


def test_a_shape_rule_asks_for_a_size_that_data_decides():
    @library.custom_op("more_names::places", mutates_args=())
    def places(x: weft.Tensor) -> weft.Tensor:
        return x.nonzero()

    @places.register_fake
    def _(x):
        return x.new_empty((library.get_ctx().new_dynamic_size(), x.dim()), dtype=weft.int64)

    @library.custom_op("more_names::first_places", mutates_args=())
    def first_places(x: weft.Tensor) -> weft.Tensor:
        return places(x)[:1].clone()

    @first_places.register_fake
    def _(x):
        places(x)  # (a rule that asks another's, and then for a size of its own)
        return x.new_empty((library.get_ctx().new_dynamic_size(), x.dim()), dtype=weft.int64)

    with pytest.raises(RuntimeError, match="only be called inside of a fake implementation"):
        library.get_ctx()
    got = weft.compile(lambda x: first_places(x).sum(0) * 2, fullgraph=True, backend="eager")(weft.tensor([0.0, 1, 2]))
    assert got.tolist() == [2]
    got = weft.compile(lambda x: places(x).sum(0) * 2, fullgraph=True, backend="eager")(weft.tensor([0.0, 1, 2]))
    assert got.tolist() == [6]


def test_a_rule_for_a_mode_takes_the_calls_of_an_op():
    from weft.utils._python_dispatch import TorchDispatchMode

    @library.custom_op("more_names::twice", mutates_args=())
    def twice(x: weft.Tensor) -> weft.Tensor:
        return x * 2

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    @library.register_torch_dispatch("more_names::twice", Mode)
    def _(mode, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {})) + 100

    assert twice(weft.ones(1)).item() == 2
    with Mode():
        assert twice(weft.ones(1)).item() == 102


def test_an_op_made_of_a_kernel_has_its_shapes_without_a_launch():
    launches = []

    class Kernel:  # what triton.jit gives has these
        fn = run = None

        def __getitem__(self, grid):
            return lambda x, out, n: (launches.append(grid), out.copy_(x + n))[0]

    @library.triton_op("more_names::plus", mutates_args=())
    def plus(x: weft.Tensor, n: int) -> weft.Tensor:
        out = weft.empty_like(x)
        library.wrap_triton(Kernel())[(1,)](x, out, n)
        return out

    got = weft.compile(lambda x: plus(x, 3) * 2, fullgraph=True, backend="eager")(weft.ones(2))
    assert got.tolist() == [8, 8] and launches == [(1,)]
    with pytest.raises(RuntimeError, match="only works on functions annotated with triton.jit"):
        library.wrap_triton(lambda: None)


def test_attention_of_sequences_behind_each_other():
    g = weft.Generator().manual_seed(0)
    q, k, v = (weft.randn(7, 2, 4, generator=g) for _ in range(3))
    ends = weft.tensor([0, 3, 7], dtype=weft.int32)
    causal = varlen_attn(q, k, v, ends, ends, 4, 4, window_size=(-1, 0))
    whole = varlen_attn(q, k, v, ends, None, 4, 4)
    for a, b in ((0, 3), (3, 7)):
        part = [t[a:b].transpose(0, 1)[None] for t in (q, k, v)]
        for got, flag in ((causal, True), (whole, False)):
            want = weft.nn.functional.scaled_dot_product_attention(*part, is_causal=flag)[0].transpose(0, 1)
            weft.testing.assert_close(got[a:b], want)


def test_what_flex_attention_gives_besides():
    g = weft.Generator().manual_seed(0)
    q, k, v = (weft.randn(1, 2, 8, 4, generator=g) for _ in range(3))
    out, aux = flex_attention(q, k, v, return_aux=AuxRequest(lse=True, max_scores=True))
    scores = q @ k.transpose(-2, -1) / 2
    weft.testing.assert_close(aux.lse, scores.logsumexp(-1))
    weft.testing.assert_close(aux.max_scores, scores.amax(-1))
    assert flex_attention(q, k, v, return_aux=AuxRequest())[1] == (None, None)
    with pytest.raises(ValueError, match="both return_lse and return_aux"):
        flex_attention(q, k, v, return_lse=True, return_aux=AuxRequest())


def test_a_block_mask_of_its_blocks():
    causal = lambda b, h, q, kv: q >= kv
    mask = create_block_mask(causal, 1, 1, 8, 8, BLOCK_SIZE=4)
    made = BlockMask.from_kv_blocks(mask.kv_num_blocks, mask.kv_indices, BLOCK_SIZE=4, mask_mod=causal)
    q = weft.randn(1, 1, 8, 4)
    weft.testing.assert_close(flex_attention(q, q, q, block_mask=made), flex_attention(q, q, q, block_mask=mask))
    assert made.shape == mask.shape and weft.equal(made.to("cpu").to_dense(), mask.to_dense())
    lengths, blocks = mask.as_tuple()[:2], mask.as_tuple(flatten=False)[-2]
    assert lengths == (8, 8) and blocks == (4, 4)
    assert mask.to_string() == "(0, 0)\n██  \n████"


def _measured(times, sub, how, threads=1):
    return benchmark.Measurement(10, times, benchmark.TaskSpec("f(x)", "pass", "", "op", sub, how, None, threads))


def test_a_table_of_measurements():
    results = [
        _measured([1e-3, 1.1e-3, 1.05e-3], "(2,2)", "eager"), _measured([1e-5] * 3, "(2,2)", "comp"),
        _measured([2e-3] * 3, "(9,9)", "eager"), _measured([2.13e-3] * 3, "(9,9)", "comp"),
        _measured([2e-3] * 3, "(9,9)", "comp", 2),
    ]  # fmt: skip
    table = benchmark.Compare(results)
    # PyTorch 2.13's text of the same numbers
    assert str(table) == (
        "[------------- op ------------]\n             |  eager  |   comp\n1 threads: --------------------\n"
        "      (2,2)  |  105.0  |    1.0\n      (9,9)  |  200.0  |  213.0\n2 threads: --------------------\n"
        "      (9,9)  |         |  200.0\n\nTimes are in microseconds (us).\n"
    )
    table.trim_significant_figures()
    table.colorize()
    assert str(table) == (
        "[------------ op ------------]\n             |  eager  |  comp\n1 threads: -------------------\n"
        "      (2,2)  |  \x1b[92m\x1b[1m 100 \x1b[0m\x1b[0m  |  \x1b[92m\x1b[1m  1 \x1b[0m\x1b[0m\n"
        "      (9,9)  |   200   |  \x1b[31m\x1b[1m213 \x1b[0m\x1b[0m\n2 threads: -------------------\n"
        "      (9,9)  |         |  \x1b[92m\x1b[1m200 \x1b[0m\x1b[0m\n\nTimes are in microseconds (us).\n"
    )


def test_a_fuzzer_draws_what_its_constraints_take():
    fuzzer = benchmark.Fuzzer(
        [benchmark.FuzzedParameter("n", 2, 64, "loguniform"), benchmark.FuzzedParameter("m", 2, 9, "uniform"),
         benchmark.FuzzedParameter("d", distribution={1: 0.5, 2: 0.5})],
        [benchmark.FuzzedTensor("x", ("n", "m"), steps=(2, 1), dim_parameter="d", max_elements=200, probability_contiguous=0.0),
         benchmark.FuzzedSparseTensor("s", ("n", "m"))],
        [lambda n, m, d: n > m], seed=3,
    )  # fmt: skip
    first = [(tensors["x"].shape, params) for tensors, _, params in fuzzer.take(5)]
    again = [(tensors["x"].shape, params) for tensors, _, params in fuzzer.take(5)]
    assert first == again and all(p["n"] > p["m"] and len(shape) == p["d"] for shape, p in first)
    assert 0 < fuzzer.rejection_rate < 1
    with pytest.raises(ValueError, match="did not satisfy"):
        next(benchmark.Fuzzer([benchmark.FuzzedParameter("n", 1, 2, "uniform")], [], [lambda n: n > 5], seed=0).take(1))


def test_settings_of_files(tmp_path):
    path = tmp_path / "x.pt"
    with weft.serialization.skip_data():
        weft.save({"w": weft.ones(4)}, path)
    assert weft.load(path)["w"].tolist() == [0] * 4
    weft.save({"w": weft.ones(4)}, path)
    with weft.serialization.skip_data():
        assert weft.load(path)["w"].shape == (4,)
    with weft.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        weft.load(path, mmap=True)["w"].fill_(7)
    assert weft.load(path)["w"].tolist() == [7] * 4
    weft.load(path, mmap=True)["w"].fill_(9)
    assert weft.load(path)["w"].tolist() == [7] * 4
    with pytest.raises(ValueError, match="expected mmap.MAP_PRIVATE or mmap.MAP_SHARED"):
        weft.serialization.set_default_mmap_options(55)


def test_a_package_says_where_storages_are(monkeypatch):
    from weft.serialization import places

    monkeypatch.setattr(places, "_packages", [])
    seen = []
    weft.serialization.register_package(0, lambda storage: "elsewhere", lambda storage, place: seen.append(place) or storage)
    file = io.BytesIO()
    weft.save({"w": weft.arange(3)}, file, format="pytorch")
    file.seek(0)
    assert weft.load(file)["w"].tolist() == [0, 1, 2] and seen == ["elsewhere"]
    assert weft.serialization.location_tag(weft.ones(1).untyped_storage()) == "elsewhere"


def test_sparse_tensors_of_other_sizes():
    s = weft.eye(3).to_sparse()
    assert s.sparse_resize_((4, 5), 2, 0).to_dense().shape == (4, 5) and s.to_dense().sum() == 3
    with pytest.raises(RuntimeError, match=r"shrinking the size of sparse dimensions \(from \[4, 5\] to \[2, 2\]\)"):
        s.sparse_resize_((2, 2), 2, 0)
    with pytest.raises(RuntimeError, match=r"changing the number of sparse dimensions \(from 2 to 1\)"):
        s.sparse_resize_((4,), 1, 0)
    empty = weft.zeros(2).to_sparse().resize_as_sparse_(s)
    assert empty.shape == (4, 5) and empty._nnz() == 0
    assert s.sparse_resize_and_clear_((2, 2), 2, 0)._nnz() == 0 and s.shape == (2, 2)


def test_small_ones():
    assert weft.ones(2).polygamma_(1).tolist() == pytest.approx([1.644934] * 2)
    p = weft.nn.Parameter(weft.zeros(2))
    assert p.module_load(weft.ones(2), assign=True).tolist() == [1, 1]
    with weft.no_grad():
        assert p.module_load(weft.ones(2)).tolist() == [1, 1]
    assert issubclass(weft.OutOfMemoryError, RuntimeError) and issubclass(weft.AcceleratorError, RuntimeError)
    weft.sym_constrain_range(3, min=1, max=5)
    with pytest.raises(RuntimeError, match="Invalid value range"):
        weft.sym_constrain_range(3, min=4)
    backend = lambda gm, inputs: seen.append(1) or gm.forward
    seen = []
    weft.compiler.set_default_backend(backend)
    try:
        assert weft.compile(lambda x: x + np.pi)(weft.zeros(1)).item() == pytest.approx(np.pi) and seen == [1]
    finally:
        weft.compiler.set_default_backend(None)
    assert weft.compiler.get_default_backend() == "inductor"


def test_spaced_numbers_between_batched_ends():
    a, b = weft.tensor([0.0, 1.0]), weft.tensor([1.0, 2.0])
    for spaced in (weft.linspace, weft.logspace):
        for steps in (1, 3):
            want = weft.stack([spaced(x.item(), y.item(), steps) for x, y in zip(a, b)])
            weft.testing.assert_close(weft.vmap(functools.partial(spaced, steps=steps))(a, b), want)


def test_modules_list_the_ops_that_they_have():
    listed = {"cross_entropy": weft.nn.functional, "det": weft.linalg, "bessel_j0": weft.special, "rfft": weft.fft}
    for name, module in listed.items():
        names: dict = {}
        exec(f"from {module.__name__} import *", names)
        assert name in dir(module) and names[name] is getattr(module, name)
