"""Calls of the ops that have native kernels: for each op a function of its name and a dtype that gives core arguments."""

import itertools

import numpy as np

from aten import dispatch
from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import registry
from aten.tensor import from_numpy

rng = np.random.default_rng(0)


def tensor(*sizes, dtype="float32", layout="plain"):
    """Values with ties, signed zeros, infinities and NaN where the dtype has them."""
    wide = tuple(2 * n for n in sizes) if layout == "strided" else sizes[::-1] if layout == "turned" else sizes
    values = rng.integers(-4, 5, wide) * 0.5
    t = from_numpy(np.asarray(values)).to(getattr(dtypes, dtype))
    if getattr(dtypes, dtype).is_floating_point and t.numel() > 12:
        t.reshape([-1])[:6] = from_numpy(np.array([np.inf, np.nan, -0.0, 0.0, -np.inf, np.nan])).to(t.dtype)
    if layout == "strided":
        return t[tuple(slice(None, None, 2) for _ in sizes)].detach()
    return t.permute(list(range(len(sizes)))[::-1]).detach() if layout == "turned" else t


def index(high, *sizes):
    return from_numpy(rng.integers(0, high, sizes))


def rows(name, dtype):
    """Calls on tensors of different layouts: core arguments."""
    for sizes in ((5, 7), (3, 130), (2, 3, 4), (1,), (4, 1)):
        for layout in ("plain", "turned", "strided"):
            for dim in range(len(sizes)):
                yield tensor(*sizes, dtype=dtype, layout=layout), dim, sizes[dim]


CALLS: dict = {}  # the calls of an operator, by its name


def calls_of(*names):
    def note(f):
        CALLS.update(dict.fromkeys(names, f))
        return f

    return note


@calls_of("sort", "topk")
def of_sort(name, dtype):
    for x, dim, n in rows(name, dtype):
        yield (x, dim, bool(dim % 2), True) if name == "sort" else (x, max(1, n // 2), dim, bool(dim % 2), True)


@calls_of("median_dim", "nanmedian_dim", "mode", "max_dim", "min_dim")
def of_median_dim(name, dtype):
    for x, dim, _ in rows(name, dtype):
        yield x, dim, bool(dim % 2)


@calls_of("kthvalue")
def of_kthvalue(name, dtype):
    for x, dim, n in rows(name, dtype):
        yield x, (n + 1) // 2, dim, bool(dim % 2)


@calls_of("constant_pad_nd")
def of_constant_pad_nd(_, dtype):
    yield tensor(0, 2, dtype=dtype), [0, 0, 2, 1], 1  # (of which there is no memory)
    for pad in ([1, 2], [2, 0, 1, 3], [-1, 2, 1, -2], [0, 0], [-3, -3]):
        for layout in ("plain", "turned", "strided"):
            yield tensor(3, 5, 6, dtype=dtype, layout=layout), pad, 1
    yield tensor(0, 3, dtype=dtype), [1, 1, 2, 0], 2


@calls_of("extended_pad", "extended_pad_backward")
def of_extended_pad(name, dtype):
    for mode in ("reflect", "replicate", "circular"):
        for pad in ([1, 2], [2, 1, 1, 3], [0, 1]) + (([-1, 2, 1, -2],) if mode != "circular" else ()):
            for layout in ("plain", "turned", "strided"):
                x = tensor(2, 3, 5, 6, dtype=dtype, layout=layout)
                if name == "extended_pad":
                    yield x, pad, mode
                else:
                    g = registry["extended_pad"].meta(Meta.of(x), pad, mode)
                    yield tensor(*g.sizes, dtype=dtype, layout=layout), [2, 3, 5, 6], pad, mode


@calls_of("tril", "triu")
def of_tril(_, dtype):
    for sizes in ((4, 6), (6, 4), (2, 3, 5), (1, 1), (0, 3)):
        for diagonal in (-9, -1, 0, 2, 9):
            for layout in ("plain", "turned", "strided"):
                yield tensor(*sizes, dtype=dtype, layout=layout), diagonal


@calls_of("eye")
def of_eye(_, dtype):
    for n, m in ((3, 3), (2, 5), (5, 2), (0, 2)):
        yield n, m, getattr(dtypes, dtype), Meta.of(tensor(1)).device


@calls_of("tril_indices", "triu_indices")
def of_tril_indices(_, dtype):
    for n, m, offset in ((3, 4, 0), (4, 3, 1), (3, 3, -2), (2, 5, 7), (0, 3, 0)):
        yield n, m, offset, dtypes.int64 if dtype == "int64" else dtypes.int32, Meta.of(tensor(1)).device


@calls_of("copy")
def of_copy(_, dtype):
    for layout in ("plain", "turned", "strided"):
        x = tensor(3, 4, 5, dtype="float32", layout=layout)
        for sizes in ((3, 4, 5), (4, 1), (), (5,)):
            yield x, tensor(*sizes, dtype=dtype, layout=layout if len(sizes) == 3 else "plain")


@calls_of("diagonal_scatter")
def of_diagonal_scatter(_, dtype):
    for offset, a, b in ((0, 0, 1), (1, 1, 2), (-2, 2, 0)):
        x = tensor(3, 4, 5, dtype=dtype, layout="turned")
        yield x, tensor(*registry["diagonal"].meta(Meta.of(x), offset, a, b).sizes, dtype=dtype), offset, a, b


@calls_of("unfold_backward")
def of_unfold_backward(_, dtype):
    for size, step in ((2, 1), (3, 2), (1, 2)):
        count = (9 - size) // step + 1
        yield tensor(4, count, size, dtype=dtype, layout="turned"), [4, 9], 1, size, step
        yield tensor(count, 4, size, dtype=dtype), [9, 4], 0, size, step


@calls_of("columns_of_image", "image_of_columns")
def of_columns_of_image(name, dtype):
    for rest in (([2, 3], [1, 1], [0, 1], [1, 1]), ([3, 2], [2, 1], [1, 2], [2, 3]), ([1, 1], [1, 1], [0, 0], [2, 1])):
        x = tensor(2, 3, 7, 6, dtype=dtype, layout="turned")
        columns = registry["columns_of_image"].meta(Meta.of(x), *rest).sizes
        yield (x, *rest) if name == "columns_of_image" else (tensor(*columns, dtype=dtype), [7, 6], *rest)


@calls_of("scatter", "scatter_reduce", "gather_class")
def of_scatter(name, dtype):
    for dim in (0, 1):
        x, at = tensor(5, 6, dtype=dtype, layout="turned"), index((5, 6)[dim], 4, 5)
        if name == "gather_class":
            yield x, dim, at
        elif name == "scatter":
            yield from ((x, dim, at, tensor(5, 6, dtype=dtype, layout="strided")), (x, dim, at, True if dtype == "bool" else 1))
        else:
            for reduce in ("sum", "prod", "mean", "amax", "amin"):
                yield from ((x, dim, at, tensor(5, 6, dtype=dtype, layout="strided"), reduce, own) for own in (True, False))


@calls_of("rand_philox", "randn_philox", "randint_philox")
def of_rand_philox(name, dtype):
    low = (-3, 90) if name == "randint_philox" else ()
    for sizes in ([7], [300], [0], [3, 5]):
        yield *low, sizes, 5, 1 << 40, getattr(dtypes, dtype), Meta.of(tensor(1)).device


@calls_of("spaced")
def of_spaced(_, dtype):
    device = Meta.of(tensor(1)).device
    yield from ((start, 2.5, 0.37, n, getattr(dtypes, dtype), device) for start in (-1.0, 0.1) for n in (0, 1, 2, 7, 300))


@calls_of("arange")
def of_arange(_, dtype):
    device = Meta.of(tensor(1)).device
    counts = [(0, 0, 1), (0, 300, 1), (-40, 87, 3), (50, -77, -5), (2**24, 2**24 + 40, 1)]
    counts += [(2**31 - 9, 2**31 + 9, 1), (-(2**62), 2**62, 2**58)]  # beyond int32
    if getattr(dtypes, dtype).is_floating_point:
        counts += [(0.1, 33, 0.1), (1, 9.5, 0.37), (-1e30, 1e30, 1e28), (7, -7, -0.3), (0.5, 90, 1)]
    yield from ((*count, getattr(dtypes, dtype), device) for count in counts)


@calls_of("multinomial_philox")
def of_multinomial_philox(_, dtype):
    for sizes in ((40,), (3, 50)):
        p = tensor(*sizes, dtype=dtype, layout="turned").nan_to_num(0.5, 2, 0.5)
        p = p if dtype in ("bool", "complex64") else p.abs()
        yield from ((p, count, replacement, 5, 9) for count in (1, 4, 12) for replacement in (False, True))


@calls_of("part_means", "part_means_backward")
def of_part_means(name, dtype):
    for sizes, outs in (((3, 7), [3]), ((2, 3, 5, 8), [2, 3]), ((2, 4, 5, 3), [2, 7, 3]), ((2, 5, 5), [1, 8])):
        x = tensor(*(sizes if name == "part_means" else (*sizes[: len(sizes) - len(outs)], *outs)), dtype=dtype, layout="turned")
        yield x.nan_to_num(0.5, 2, -2), outs if name == "part_means" else list(sizes[len(sizes) - len(outs) :])


@calls_of("resample", "resample_backward")
def of_resample(name, dtype):
    for how in itertools.product((False, True), repeat=3):
        for sizes, dim in (((4, 7), 1), ((2, 7, 5), 1), ((7,), 0), ((3, 7, 1), 1)):
            for out, scale in ((11, None), (3, None), (1, None), (10, 1.5), (2, 0.3)):
                given, wanted = (out, 7) if name == "resample_backward" else (7, out)
                x = tensor(*sizes[:dim], given, *sizes[dim + 1 :], dtype=dtype, layout="turned")
                yield x.nan_to_num(0.5, 2, -2), dim, wanted, scale, *how


@calls_of("resample_bytes")
def of_resample_bytes(_, dtype):
    for how in itertools.product((False, True), repeat=3):
        for sizes, dim in (((4, 70), 1), ((2, 7, 5), 1), ((7,), 0)):
            for out, scale in ((11, None), (3, None), (1, None), (int(sizes[dim] * 1.5), 1.5)):
                x = from_numpy(rng.integers(0, 256, sizes)).to(dtypes.uint8) if dtype == "uint8" else tensor(*sizes, dtype=dtype)
                yield x, dim, out, scale, *how


@calls_of("ctc_alignments", "ctc_alignments_backward")
def of_ctc(name, dtype):
    labels = from_numpy(np.array([[0, 1, 0, 1, 0], [0, 2, 0, 3, 0], [0, 4, 0, 0, 0], [0, 1, 0, 2, 0]]))
    given = labels, from_numpy(np.array([6, 2, 0, 1])), from_numpy(np.array([2, 2, 1, 2]))
    for layout in ("plain", "turned"):
        logs = tensor(6, 4, 5, dtype=dtype, layout=layout).nan_to_num(0.5, 2, -2)
        logs = logs.log_softmax(-1) if dtype in ("float32", "float64") else logs
        for forgive in (False, True):
            back = (tensor(4, dtype=dtype).nan_to_num(0.5, 2, -2),) if name == "ctc_alignments_backward" else ()
            yield *back, logs, *given, forgive


def distances(dtype, layout, within, back):
    x, y = tensor(7, 5, dtype=dtype, layout=layout), tensor(4, 5, dtype=dtype, layout=layout)
    given, count = ((x,), (21,)) if within else ((x, y), (7, 4))
    return (tensor(*count, dtype=dtype), *given, tensor(*count, dtype=dtype).abs()) if back else given


@calls_of("row_distances", "row_distances_backward", "row_distances_within", "row_distances_within_backward")
def of_distances(name, dtype):
    if dtype not in ("float32", "float64"):
        return
    for p, layout in itertools.product((1.0, 2.0, float("inf")), ("plain", "turned", "strided")):
        args = distances(dtype, layout, "within" in name, "backward" in name)
        if "backward" in name:  # with the distances that the definition would compute again
            finite = [t.nan_to_num(0.5, 2, -2) for t in args[:-1]]
            args = (*finite, registry[name.removesuffix("_backward")](*finite[1:], p))
        yield *args, p


@calls_of("embedding_sums", "embedding_maxima", "embedding_sums_backward", "embedding_dots")
def of_bags(name, dtype):
    scaled = name in ("embedding_sums", "embedding_sums_backward")
    for layout, padding, cut in itertools.product(("plain", "turned", "strided"), (-1, 2), (False, True)):
        table, grad = (tensor(n, 21, dtype=dtype, layout=layout) for n in (9, 4))
        at = index(9, 20) if cut else index(9, 4, 5)
        starts = from_numpy(np.array([0, 3, 3, 11])) if cut else None
        scales = tensor(*at.shape, dtype=dtype).nan_to_num(0.5, 2, -2)
        first = {"embedding_sums_backward": (grad,), "embedding_dots": (grad, table)}.get(name, (table,))
        first = first if name == "embedding_maxima" else tuple(t.nan_to_num(0.5, 2, -2) for t in first)
        last = (9,) if name == "embedding_sums_backward" else ()
        for more in ((scales, False), (None, True)) if scaled else ((),):
            yield *first, at, starts, *more, padding, *last


@calls_of("recurrent_layer", "recurrent_layer_backward")
def of_recurrent_layer(name, dtype):
    if dtype not in ("float32", "float64"):
        return
    made = lambda *sizes, layout="plain": tensor(*sizes, dtype=dtype, layout=layout).nan_to_num(0.5, 1, -1) * 0.25
    kinds = (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))
    for (kind, gates), layout, reverse, n in itertools.product(kinds, ("plain", "turned", "strided"), (False, True), (1, 3)):
        h0 = made(n, 5, layout=layout)
        given = made(4, n, gates * 5, layout=layout), h0, made(n, 5) if kind == "lstm" else None, made(gates * 5, 5), None
        if name == "recurrent_layer":
            yield *given, kind, reverse
            continue
        of_cells = made(4, n, 5) if kind == "lstm" and reverse else None
        yield made(4, n, 5), of_cells, *given, *registry["recurrent_layer"](*given, kind, reverse), kind, reverse


@calls_of("nearest", "nearest_backward")
def of_nearest(name, dtype):
    pairs = from_numpy(np.arange(14) // 2)
    for rows, columns in itertools.product((pairs, index(7, 9), index(7, 3).sort()[0]), (pairs, index(7, 11))):
        for layout in ("plain", "turned", "strided"):
            sizes = (2, 3, 7, 7) if name == "nearest" else (2, 3, rows.numel(), columns.numel())
            x = tensor(*sizes, dtype=dtype, layout=layout)
            yield (x, rows, columns) if name == "nearest" else (x.nan_to_num(0.5, 2, -2), rows, columns, 7, 7)


@calls_of("part_maxima", "part_maxima_backward")
def of_part_maxima(name, dtype):
    for sizes, outs in (((2, 11), (4,)), ((3, 7, 13), (3, 5)), ((2, 5, 4, 6), (2, 4, 4)), ((2, 3, 3), (5, 4))):
        for layout in ("plain", "turned"):
            x = tensor(*sizes, dtype=dtype, layout=layout)
            if name == "part_maxima":
                yield x, list(outs)
                continue
            if dtype == "complex64":
                return
            values, places = registry["part_maxima"](x, list(outs))
            yield values.nan_to_num(0.5, 2, -2) if dtype != "bool" else values, places, list(sizes[len(sizes) - len(outs) :])


@calls_of("randperm_philox")
def of_randperm_philox(_, _dtype):
    yield from ((n, 5, 1 << 40, dtypes.int64, Meta.of(tensor(1)).device) for n in (0, 1, 2, 7, 3000, 70001))


@calls_of("mm", "bmm")
def of_products(name, dtype):
    for n, k, m in ((8, 8, 8), (1, 5, 3), (4, 0, 2), (40, 40, 40)):
        for layout in ("plain", "turned", "strided"):
            batch = () if name == "mm" else (2,)
            a, b = (tensor(*batch, *sizes, dtype=dtype, layout=layout) for sizes in ((n, k), (k, m)))
            yield a.nan_to_num(0.5, 2, -2), b.nan_to_num(0.5, 2, -2)


@calls_of("searchsorted")
def of_searchsorted(_, dtype):
    for right in (False, True):
        x = tensor(3, 20, dtype=dtype)
        ordered = x if dtype == "complex64" else x.sort(-1)[0]
        yield ordered, tensor(3, 7, dtype=dtype, layout="turned"), right, right
        yield ordered[0], tensor(4, 7, dtype=dtype, layout="strided"), False, right


@calls_of("bincount")
def of_bincount(_, dtype):
    yield from ((index(9, n).to(getattr(dtypes, dtype)), None, least) for n, least in ((20, 0), (20, 14), (0, 3)))


@calls_of("histc")
def of_histc(_, dtype):
    for low, high in ((0, 0), (-1, 1), (-2.5, 0.5), (1, 1)):
        yield tensor(3, 4, dtype=dtype), 4, low, high


@calls_of("masked_select")
def of_masked_select(_, dtype):
    for layout in ("plain", "turned"):
        x = tensor(5, 8, dtype=dtype, layout=layout)
        yield x, tensor(5, 8, dtype="bool")
        yield x, tensor(5, 8, dtype="bool", layout=layout)


def matrices(dtype, layout):
    """Positive definite ones."""
    x = np.sin(np.arange(48.0)).reshape(3, 4, 4)
    x = x @ x.swapaxes(-1, -2) + 4 * np.eye(4)
    wide = x.repeat(2, -1).repeat(2, -2) if layout == "strided" else x
    t = from_numpy(wide).to(getattr(dtypes, dtype))
    return t[:, ::2, ::2].detach() if layout == "strided" else t.permute([0, 2, 1]).detach() if layout == "turned" else t


@calls_of("linalg_inv", "linalg_det", "slogdet", "adjugate", "singular_values", "cholesky_lower", "linalg_lu_factor_ex",
          "linalg_qr", "hermitian_values", "solve_matrix", "solve_info", "solve_triangular_matrix", "solve_factored")  # fmt: skip
def of_matrices(name, dtype):
    for layout in ("plain", "turned", "strided"):
        a, b = (matrices(dtype, kind) for kind in (layout, "plain"))
        rest: dict = {
            "cholesky_lower": [(False,), (True,)],
            "linalg_lu_factor_ex": [(True, False), (True, True)],
            "linalg_qr": [("reduced",), ("complete",), ("r",)],
            "hermitian_values": [("L",), ("u",)],
            "solve_matrix": [(b,)],
            "solve_info": [(b,)],
            "solve_triangular_matrix": [(b, upper, unit) for upper in (False, True) for unit in (False, True)],
        }
        if name == "solve_factored":
            yield from ((b, a, upper) for upper in (False, True))
        else:
            yield from ((a, *more) for more in rest.get(name, [()]))


@calls_of("cholesky_info", "lu_solve_matrix", "permutation_of", "product_of_reflections", "reflected", "linalg_ldl_factor_ex")
def of_factors(name, dtype):
    pivots = from_numpy(np.array([[2, 4, 3, 4], [1, 2, 3, 4], [4, 4, 4, 4]], np.int32))
    for layout in ("plain", "turned", "strided"):
        a, b, tau = matrices(dtype, layout), matrices(dtype, "plain"), matrices(dtype, layout)[:, 0, :3]
        rest: dict = {
            "cholesky_info": [(False,), (True,)],
            "lu_solve_matrix": [(pivots, b, False), (pivots, b, True)],
            "product_of_reflections": [(tau,)],
            "reflected": [(tau, b, left, turned) for left in (False, True) for turned in (False, True)],
            "linalg_ldl_factor_ex": [(False, False), (True, True)],
        }
        if name == "permutation_of":
            yield from ((pivots, n, getattr(dtypes, dtype)) for n in (4, 6))
        else:
            yield from ((a, *more) for more in rest[name])


@calls_of("unique_dim", "unique_runs")
def of_unique_dim(name, dtype):
    for sizes in ((40,), (5, 6)):
        for wanted in ((True, True), (False, True), (True, False)):
            x = tensor(*sizes, dtype=dtype)
            x = x.nan_to_num() if x.dtype.is_floating_point else x  # which of several NaNs is first, NumPy does not say
            yield x, *([None] if name == "unique_dim" else []), *wanted


@calls_of("convolution", "convolution_weight")
def of_convolution(name, dtype):
    x, w, g = (tensor(*s, dtype=dtype, layout="turned") for s in ((2, 4, 9), (6, 2, 3), (2, 6, 4)))
    bounded = [t.clamp(-3, 3).nan_to_num() if dtype.startswith("float") else t for t in (x, w, g)]
    rest = [2], [1], [1], [1], 2
    yield (*bounded[:2], None, [4], *rest) if name == "convolution" else (bounded[2], bounded[0], [3], *rest)


@calls_of("channel_norm", "channel_norm_backward")
def of_channel_norm(name, dtype):
    for sizes, groups, over_samples, given in (
        ((3, 6, 4, 5), 6, True, True),
        ((3, 6, 4, 5), 6, False, False),
        ((3, 6, 4, 5), 3, False, True),
        ((70, 6), 6, True, True),
        ((5, 6, 1), 6, True, False),
        ((19, 6, 3), 6, True, True),
        ((3, 6, 2, 2), 6, False, False),
        ((4, 6, 3), 2, False, True),
        ((4, 6), 2, False, True),
    ):
        x, g, w = (tensor(*s, dtype=dtype).nan_to_num(0.5, 2, -2) for s in (sizes, sizes, (6,)))
        w, rest = w if given else None, (groups, over_samples, 1e-5)
        yield (x, w, w, *rest) if name == "channel_norm" else (g, x, w, *rest)


@calls_of("drawn_maxima")
def of_drawn_maxima(_, dtype):
    for sizes, kernel, outs in (((2, 3, 7, 9), [2, 3], [4, 5]), ((1, 2, 5, 6, 7), [1, 2, 3], [3, 1, 4])):
        at = from_numpy(rng.uniform(0, 1, (*sizes[:2], len(kernel)))).to(getattr(dtypes, dtype))
        yield from ((tensor(*sizes, dtype=dtype, layout=layout), at, kernel, outs) for layout in ("plain", "turned", "strided"))


@calls_of("class_loss")
def of_class_loss(_, dtype):
    x, t = tensor(5, 4, 3, dtype=dtype, layout="turned"), index(4, 5, 3)
    yield from ((x, t, -100), (x, t, 2), (x[0, :, 0], index(4), -100), (x[:, :, 0], index(4, 5), 1))


@calls_of("label_margins", "label_margins_backward")
def of_label_margins(name, dtype):
    for rows, n in ((3, 5), (1, 1), (4, 40)):
        for layout in ("plain", "turned", "strided"):
            x, y = tensor(rows, n, dtype=dtype, layout=layout), index(n + 2, rows, n) - 2  # (labels twice, and rows of none)
            yield (x, y) if name == "label_margins" else (tensor(rows, dtype=dtype), x, y)


@calls_of("sample_points", "sample_points_backward")
def of_sample_points(name, dtype):
    if dtype in ("float16", "bfloat16"):
        return  # (of which the definition rounds each sum: tests/aten/ops/test_sampling.py)

    def call(sizes, points, *how, layout="plain"):
        x = tensor(*sizes, dtype=dtype, layout=layout).nan_to_num(0.5, 2, -2)
        at = from_numpy(rng.uniform(-1.6, 1.6, (sizes[0], *points, len(points)))).to(x.dtype)
        g = (tensor(*sizes[:2], *points, dtype=dtype).nan_to_num(0.5, 2, -2),) if name.endswith("backward") else ()
        return x, at, *g, *how

    for border, align in itertools.product(("zeros", "border", "reflection"), (False, True)):
        for mode in ("bilinear", "nearest", "bicubic"):
            yield call((2, 3, 4, 5), (3, 6), mode, border, align, layout="turned")
        for mode in ("bilinear", "nearest"):
            yield call((2, 3, 4, 5, 3), (3, 2, 3), mode, border, align)
    for mode in ("bilinear", "bicubic"):  # of many channels, more points than a block of them
        yield call((2, 19, 4, 5), (17, 16), mode, "zeros", False)
    yield call((1, 9, 4, 5, 3), (7, 5, 4), "bilinear", "zeros", True)


@calls_of("floor_divide", "remainder", "fmod", "truncated_quotient", "gcd", "add", "sub", "mul", "div")
def of_floor_divide(name, dtype):
    for layout in ("plain", "turned", "strided"):
        x, y = tensor(5, 7, dtype=dtype, layout=layout), tensor(5, 7, dtype=dtype)
        if name not in ("add", "sub", "mul"):
            y = y + (y == 0).to(y.dtype)
        yield from ((x, y), (x, y[0]), *(((x, 3), (5, y)) if name != "truncated_quotient" else ()))


@calls_of("glu_core", "glu_core_backward")
def of_glu_core(name, dtype):
    for layout in ("plain", "turned"):
        for sizes, dim in (((6, 4), 1), ((6, 4), 0), ((2, 8, 3), 1), ((3, 2600), 1), ((2, 0), 1)):
            x = tensor(*sizes, dtype=dtype, layout=layout)
            if x.dtype.is_floating_point:
                half = [n // 2 if d == dim else n for d, n in enumerate(sizes)]
                yield (tensor(*half, dtype=dtype), x, dim) if name.endswith("backward") else (x, dim)


@calls_of("direction")
def of_direction(_, dtype):
    x = tensor(40, 31, dtype=dtype)
    if x.dtype in (dtypes.float32, dtypes.float64):
        for layout in ("plain", "turned"):
            x = tensor(40, 31, dtype=dtype, layout=layout).nan_to_num(0, 2, -2)
            yield (registry["complex"](x, x.flip([0])),)
        yield (registry["complex"](x * 0, -x * 0),)


@calls_of("exp", "neg", "pow")
def of_exp(name, dtype):
    for layout in ("plain", "turned", "strided"):
        for more in ((2,), (2.0,), (3,)) if name == "pow" else ((),):
            yield (tensor(9, 70, dtype=dtype, layout=layout), *more)


@calls_of("polygamma")
def of_polygamma(_, dtype):
    yield from ((n, tensor(3, 40, dtype=dtype, layout="turned")) for n in (0, 1, 2))


@calls_of("special_i0e", "special_i1e", "special_erfcx", "special_ndtri")
def of_special(name, dtype):
    for layout in ("plain", "turned", "strided"):
        yield (tensor(3, 40, dtype=dtype, layout=layout),)
    real = dtype if getattr(dtypes, dtype).is_floating_point else "float32"
    for low, high in ((0, 1), (0, 1e-6), (-30, 60)):  # places in (0, 1), both tails; more than a block
        yield (from_numpy(rng.uniform(low, high, 700)).to(getattr(dtypes, real)),)


POLYNOMIALS = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"]
POLYNOMIALS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


@calls_of(*(f"special_{name}" for name in POLYNOMIALS))
def of_polynomials(name, dtype):
    real = getattr(dtypes, dtype if getattr(dtypes, dtype).is_floating_point else "float32")
    for sizes, of_degrees in (((3, 40), (40,)), ((700,), (700,)), ((5, 1), (1, 9)), ((0, 3), (3,)), ((), ())):
        x, n = rng.uniform(-1.5, 1.5, sizes), rng.integers(-2, 14, of_degrees)
        yield from_numpy(np.asarray(np.where(rng.random(sizes) < 0.3, np.round(x), x))).to(real), from_numpy(np.asarray(n)).to(real)
    ends = np.array([np.nan, np.inf, -np.inf, 1, -1, 0, -0.0, 0.5, 30.0])
    for degree in (np.nan, np.inf, -1, 0, 1, 2.5, 7, 300):
        yield from_numpy(ends).to(real), from_numpy(np.full(9, degree)).to(real)


@calls_of("fft_c2c", "fft_r2c", "fft_c2r")
def of_fft_c2c(name, dtype):
    yield from transforms(name, dtype)


def transforms(name, dtype):
    """Sizes that are products of primes, odd and even; few and many at a time; along the last dim, another and several."""
    for sizes, dims in (
        ((1,), [0]),
        ((60,), [0]),
        ((3, 49), [1]),
        ((24, 3), [0]),
        ((2, 31, 20), [1]),
        ((40, 16), [1]),
        ((6, 5, 8), [0, 2]),
        ((2, 256), [1]),
        ((384, 3), [0]),
        ((2, 896), [1]),
    ):
        for layout in ("plain", "turned"):
            x = tensor(*sizes, dtype=dtype, layout=layout).nan_to_num(0.5, 2, -2)
            if not x.dtype.is_floating_point:
                continue  # of complex numbers there are parts of floats
            if name == "fft_r2c":
                yield from ((x, dims, 1.0), (x, dims, 0.3))
                continue
            z = registry["complex"](x, x.flip([0])) if x.dtype in (dtypes.float32, dtypes.float64) else x
            n = sizes[dims[-1]]
            yield from (
                ((z, dims, True, 1.0), (z, dims, False, 0.3))
                if name == "fft_c2c"
                else ((z, dims, 2 * n - 2 or 1, 0.3), (z, dims, 2 * n - 1, 1.0))
            )


def results(op, args):
    """Memory for what a call gives."""
    meta = dispatch.result_meta(op, args)
    return tuple(map(dispatch.allocate, meta)) if type(meta) is tuple else dispatch.allocate(meta)


def flat(out):
    return out if type(out) is tuple else (out,)
