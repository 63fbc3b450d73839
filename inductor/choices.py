"""Every decision that changes speed but never results."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from aten import settings
from aten.fx.interpreter import MODES
from aten.symbolic.expr import ONE, Expr, evaluate, prod_
from aten.symbolic.expr import walk as parts
from inductor.ir import scalar
from inductor.ir.buffer import Kernel
from inductor.ir.index import coefficient, divisions, stays_divided
from inductor.ir.loops import Store
from inductor.ir.nodes import HALF, Node, walk

SMALL_NEST = 1 << 18
MAX_INDEX = 400  # operations in the text of one index
PARTS = 8  # of them cost about as much as one node
EXPENSIVE = 8  # additions: what is worth keeping rather than computing again
MAX_BUFFERS = 40  # that one nest reads and writes
MAX_KEPT_BYTES = 1 << 20  # of a row that stays in cache between two stages
FEWEST_COLUMNS = 16  # side by side: fewer leave lanes empty
NARROW_BLOCK, WIDE_BLOCK = 128, 1024  # columns that are worked on together ...
BLOCK_BYTES = 1 << 15  # ... and what all rows of them should take between two stages, ...
LONGEST_COLUMN = 1024  # ... which more rows than these do not
FEW_ROWS = 4  # fewer rows than this do not fill the threads ...
LONG_ROW = 1 << 16  # ... if a row is this long


COSTLY = 40  # additions, as a random number
LONG_REPEAT = 1 << 9  # elements that one value is computed for: then it is cheap
MANY_TIMES = 8
SHORT_ROW = 8  # a reduced row of fewer elements leaves most lanes empty: lanes are then rows, ...
MANY_ROWS = 32  # ... where there are so many
LONG_PIECE = 256  # elements that lie side by side in what is joined: from here on memcpy is faster than a loop
SHORT_PIECE = 16  # elements in a row that leave lanes empty
SHORT_JOINED = 64  # elements of a row of what is joined: its loops are not cut where the parts meet
LONG_TRIANGLE_ROW = 64  # elements that are moved as one piece
MANY_LOOPS = 64  # of a load at places that another value says
LARGE_SCORES = 1 << 20  # of one head ...
MANY_SCORES, SOME_SCORES = 1 << 21, 1 << 16  # ... or of all together, where one head has at least some
LEAST_WINDOW, LARGEST_WINDOW = 9, 32  # elements
LONG_LINE = 16  # elements
WIDEST_STEP = 4  # from lane to lane, which whole vectors and shuffles take
MANY_RESULTS = 512
FEW_OPS = 3  # of a graph that has no kernel: run op by op, it loses nothing
LEAST_SPLIT = 8192  # elements of a row of which a device reduces parts side by side ...
LEAST_SPLIT_COLUMN = 512  # ... or of a column, ...
FEW_PROGRAMS = 128  # ... where fewer programs than this would run; ...
MANY_PROGRAMS = 512  # ... so many then do
COLUMNS_A_PROGRAM = 64
FEW_PLACES = 16  # of an image
SMALL_SIDE = 32  # of a matrix whose product is made in registers
SHORT_PRODUCT = 64  # terms of a product of vectors that are summed where they are computed


def may_run_eager(graph: Any) -> bool:
    """Whether a graph for which no kernel is generated is best left to eager. The ops are the same; a Program around them adds
    a call, and its backward is recorded in smaller ops (`chunk` backward: 400 us instead of 56; `linalg` ops 10 %)."""
    return few_ops(graph) and all(n.meta.get(mode) is None for n in graph.nodes for mode in MODES)


def fills_many(graph: Any, results: int) -> bool:
    """Whether a graph of few ops makes so many new tensors that handing them out is what takes time; a kernel that fills each of
    them takes minutes to compile (unbind_copy of [14560])."""
    return results >= MANY_RESULTS and may_run_eager(graph)


def only_fills(steps: Sequence[Any]) -> bool:
    """Whether all that kernels do beside ops is to fill memory with numbers: then there is nothing to fuse (max_unpool2d to
    [8,16,64,64]: 79 us instead of 121)."""
    kernels = [s for s in steps if isinstance(s, Kernel)]
    nests = [nest for k in kernels if isinstance(k.body, tuple) for nest in k.body]
    fills = all(isinstance(x, Store) and x.value.kind == "const" for nest in nests for x in nest.statements)
    return len(kernels) < len(steps) and all(isinstance(k.body, tuple) for k in kernels) and fills


def few_ops(graph: Any) -> bool:
    """Whether a graph has so few ops that there is little to fuse; parts of results are none."""
    return sum(n.op == "call_function" and hasattr(n.target, "name") for n in graph.nodes) <= FEW_OPS


def size(e: Expr | int, hints: dict[str, int], default: int = 64) -> int:
    """The likely value of a size."""
    if isinstance(e, int):
        return e
    return evaluate(e, hints) if e.free_symbols <= hints.keys() else default


def expensive(body: Node) -> bool:
    """Whether computing the value twice costs more than storing and loading it in cache."""
    total = 0
    for n in walk([body]):
        total += scalar.cost(n) if n.kind == "call" else 0
        if total >= EXPENSIVE:
            return True
    return False


def realize(body: Node, users: int) -> bool:
    """Whether a pointwise value that `users` ops read is worth a buffer of its own. Where all of them run in one kernel
    the buffer disappears again. What is made cheaply of one element and of rows or scalars is not: whoever reads it reads as much
    either way (normalised images, which the backward of a batch norm uses three times)."""
    most_nodes, most_loads = settings.realize_opcount_threshold, settings.realize_reads_threshold
    if body.kind in ("load", "const", "index"):
        return body.kind == "load" and written(body.index) > MAX_INDEX
    count, loads, cost = 0, 0, 0
    loops: list[int] = []  # by how many loops each load goes
    for n in walk([body]):
        count += 1 if n.kind not in ("load", "index") else 1 + written(n.index) // PARTS
        if n.kind == "load":
            loads += 1
            loops.append(MANY_LOOPS if n.args else sum(s[0] == "i" for s in n.index.free_symbols))
        cost += scalar.cost(n)
        if count > most_nodes or loads > most_loads:
            return True
    return users > 1 and (loops.count(max(loops, default=0)) > 1 or cost > EXPENSIVE)


def repeats(body: Node, outside: int, inside: int) -> bool:
    """Whether a value that an op reads several times for each of its elements is worth a buffer. Along dims outside of its own
    every row computes it anew (log of [5], subtracted from [52425,5]: 637 us instead of 324); along those inside a row does once,
    for whole lanes (a random number for 25 elements, dropout2d of [10485,5,5]: 771 us instead of 32)."""
    cost = sum(scalar.cost(n) for n in walk([body]) if n.kind == "call")
    return (outside >= MANY_TIMES and cost >= EXPENSIVE) or (1 < inside <= LONG_REPEAT and cost >= COSTLY)


def lies_beside(user: Any) -> bool:
    """Whether what a node reads becomes one of few values side by side, which are made once (ir/side_by_side.py): a stack along a
    new last dim, or a view on the way to one."""
    name, made = getattr(user.target, "name", None), user.meta.get("val")
    if name in ("unsqueeze", "view"):
        return bool(user.users) and all(map(lies_beside, user.users))
    if name != "cat" or not getattr(made, "ndim", 0) or type(made.sizes[-1]) is not int:
        return False
    dim = user.args[1] if len(user.args) > 1 else user.kwargs.get("dim", 0)
    return dim in (-1, made.ndim - 1) and 1 < made.sizes[-1] <= WIDEST_STEP


def written(e: Expr) -> int:
    """How many operations the text of an index has: what it uses twice is written twice."""
    if e.is_plain:
        return 1
    count: dict[Expr, int] = {}
    for x in parts(e):
        count[x] = 1 + sum(count[a] for a in x.args)
    return count[e]


def block_of_columns(rows: int, columns: int | None, kept: int) -> int:
    """How many columns several stages go over together, so that what they read stays in cache with `kept` values a point;
    `columns`: how many there are, of which the blocks then have equal parts. (softmax of [512,1024] along dim 0: one
    kernel, 0.3 ms instead of 0.45 in four.)"""
    block = max(NARROW_BLOCK, BLOCK_BYTES // (4 * max(rows, 1) * (1 + kept)) // NARROW_BLOCK * NARROW_BLOCK)
    block = min(block, WIDE_BLOCK)
    if columns is None:
        return block
    return -(-columns // -(-columns // block) // FEWEST_COLUMNS) * FEWEST_COLUMNS


def worth_sharing(elements: int, points: int) -> bool:
    """Whether loops over that many points are best run as one because both read a buffer of so many elements. A scalar
    or a row of biases stays in cache, and joint loops of what is otherwise unrelated only grow."""
    return 4 * elements >= points


def small(points: Expr, hints: dict[str, int]) -> bool:
    """Whether loops over that many points are best run together with others."""
    return settings.combo_kernels or size(points, hints) <= SMALL_NEST


def sums_product(m: Expr, n: Expr, k: Expr, batched: bool, hints: dict[str, int]) -> bool:
    """Whether a matrix product is better a sum in a loop: two vectors (a dot product of 262144 takes 0.05 ms instead of 3), or
    in a batch a matrix and a vector of few terms, where packing costs more than it saves (depthwise convolutions)."""
    rows, columns = size(m, hints), size(n, hints)
    if rows == columns == 1:
        return m.is_const and n.is_const
    return batched and 1 in (rows, columns) and (m.is_const or n.is_const) and size(k, hints) <= SHORT_PRODUCT


def adds_apart(m: Expr, n: Expr, k: Expr, dtype: str) -> bool:
    """Whether what follows the products of a batch is a loop of its own: of small matrices, which are made in registers where
    nothing but sums is stored (baddbmm of 5240 products of [5,5] and [5,10]: 290 us instead of 450)."""
    return dtype not in HALF and all(s.is_const and s.value <= SMALL_SIDE for s in (m, n, k))


def scales_product(k: Expr, dtype: str) -> bool:
    """Whether a matrix product is a column times a row, which a loop is better at (the gradients of a dot product of 262140: 0.5 ms
    instead of 1.5; of a vector of 52420 by five columns: 27 us instead of 230) and fuses with what is around. Eager multiplies
    there, too."""
    return k.is_const and k.value == 1 and dtype in ("float32", "float64")


def fuses_convolution(channels: Any, results: Any, groups: int, places: list, dtype: str, of_weight: bool = False) -> bool:
    """Whether a convolution becomes loops: where every result sees one channel and an image has few places (3x3 of [32,16,4,4]:
    24 us instead of 40), or numbers are halves, which a loop reads as they are. The kernel copies a channel and sums it in
    cache: 0.41 ms instead of 1.2 for [8,384,14,14], and with the gradients 4.6 instead of 14. Gradients of weights, sums over
    images, are left to it in halves, too (of [4,16,64,64]: 1.6 ms instead of 5.7)."""
    depthwise = groups > 1 and type(channels) is type(results) is int and channels == results == groups
    return depthwise and ((dtype in HALF and not of_weight) or (all(type(n) is int for n in places) and prod(places) <= FEW_PLACES))


def adds_columns(stride: Sequence[Any]) -> bool:
    """Whether columns are added into an image in loops: those of windows that begin at every element (3x3, into [4,16,32,32]:
    0.15 ms instead of 0.45). The kernel adds rows with steps (2x2 by steps of two, into [8,16,32,32]: 0.11 ms instead of 1.2)."""
    return all(type(s) is int and s == 1 for s in stride)


def fills_and_writes(size: Expr) -> bool:
    """Whether what has one element a line along a dim is filled, and that element written, rather than each asked whether it is the
    one: long lines (gradient of the maxima of [80,80,80] along dim 1, bfloat16: 70 us less)."""
    return size.is_const and size.value >= LONG_LINE


def writes_diagonal(sizes: Sequence[Expr], diagonal: Sequence[Expr]) -> bool:
    """Whether a result that nothing is computed of is copied, and its diagonal written behind that, rather than each element asked
    whether it lies on it: a diagonal of fewer elements than the rest (diag_embed of bfloat16 [175,105]: 53 us instead of 117, of
    float32 [17475,5]: 43 instead of 104)."""
    return size(prod_(diagonal), {}) * 2 <= size(prod_(sizes), {})


def unrolls_extreme(sizes: tuple[Expr, ...], dims: tuple[int, ...], loads: list[Node]) -> bool:
    """Whether an extreme and its place are compared element by element: of the few elements of a window, where lanes are windows
    that begin up to four elements apart (max_pool2d with places, 2x2 of [8,64,56,56]: in two loops over rows of two elements
    100 times as long)."""
    kept = [d for d, s in enumerate(sizes) if d not in dims and s is not ONE]
    if not kept or not all(sizes[d].is_const for d in dims) or not 1 < prod(sizes[d].value for d in dims) <= LARGEST_WINDOW:
        return False
    steps = [coefficient(n.index, f"i{kept[-1]}") for n in loads]
    return all(c is not None and c.is_const and 1 <= c.value <= WIDEST_STEP for c in steps)


def sums_in_turn(kernel: Sequence[Any]) -> bool:
    """Whether sums and maxima of windows are those of one dim first and of these then: fewer loads, but for small windows, and of
    few terms (5x5 by steps of two of [16,16,32,32]: 73 us instead of 640; 2x2: 25 us, in turn 37)."""
    if len(kernel) < 2 or not all(type(k) is int for k in kernel):
        return False
    return prod(kernel) >= LEAST_WINDOW and prod(kernel[:-1]) + kernel[-1] <= LARGEST_WINDOW


def keeps_attention(heads: Sequence[Any], queries: Any, keys: Any) -> bool:
    """Whether attention over so many queries and keys stays one op, which keeps a block of the weights in cache: as products and
    a softmax it writes and reads all of them (2048 tokens, 8 heads: 95 ms forward and backward instead of 55, 143 MB instead
    of 8), and keeps them for the backward (64 heads of 256 tokens: 16.8 MB each layer, in 0.94 to 1.06 of the time). Below,
    what stands around fuses with its parts."""
    sizes = [getattr(n, "hint", n) for n in (*heads, queries, keys)]
    if None in sizes:
        return False
    head = sizes[-2] * sizes[-1]
    return head >= LARGE_SCORES or (head >= SOME_SCORES and prod(sizes) >= MANY_SCORES)


def in_memory(x: Any) -> bool:
    """Whether a value is elements of a buffer at places known beforehand."""
    return x.buffer_load is not None and not x.body.args


def keeps_selection(x: Any, dim: int, index: Any) -> bool:
    """Whether elements along the last dim at places that data or floats say (of a resizing) are taken by the kernel, of what is in
    memory: it checks a place once, not at every row (nearest-exact, [44,66,88] to 132: 0.17 ms instead of 0.28)."""
    return in_memory(x) and x.rank > 1 and dim % x.rank == x.rank - 1 and index.body.kind != "index"


def keeps_addition(x: Any, dim: int, index: Any, source: Any) -> bool:
    """Whether elements are added along the last dim by the kernel, of what is in memory: lanes would each look for their own place
    (five of a row to four, [21844,3,5]: 0.6 ms instead of 1.6; 512 of a row to 300: 0.24 instead of 0.35)."""
    return x.rank > 1 and dim % x.rank == x.rank - 1 and in_memory(source)


def keeps_places(x: Any, dim: int, index: Any, source: Any) -> bool:
    """Whether elements are added at places of their own by the kernel: along the last dim, of what is in memory. It takes one after
    the other, lanes are taken apart for that (131070 int64 to 1000: 59 us instead of 103; float32: 64 instead of 81). Halves are
    added in float32 by loops and rounded once."""
    return in_memory(index) and in_memory(source) and x.rank > 0 and dim % x.rank == x.rank - 1 and x.dtype not in HALF


def adds_by_op(name: str, args: list, final: bool) -> bool:
    """Whether `index_add` or `scatter_add` is the op: it adds into what is computed for it, or into a copy of what is in memory."""
    if name == "index_add" and final and keeps_addition(*args):
        return True
    return (name == "scatter_add" or args[0].rank == 1) and keeps_places(*args)


def keeps_extreme(x: Any, dim: int) -> bool:
    """Whether extremes of columns and their places are the kernel's, which takes both on its way down: in loops the places are
    looked for once the extremes are known (of [512,512] along dim 0: 28 us instead of 64). Few columns leave its lanes empty."""
    dim = int(dim) % max(x.rank, 1)
    return dim < x.rank - 1 and size(x.sizes[-1], {}) >= FEWEST_COLUMNS and size(x.sizes[dim], {}) > LARGEST_WINDOW


def stores_windowed(body: Node, size: Any, step: Any) -> bool:
    """Whether what windows are taken of is stored first: of windows that overlap each element would be computed for every one that
    it is in, where it is joined of parts (reflected at the ends; zeros around are asked for at once) or takes long. An op then
    reads it as it lies (stft of [262100], ten elements by steps of two: the windows 60 us instead of 690)."""
    if type(size) is not int or type(step) is not int or size <= step:
        return False
    return sum(n.kind == "masked" for n in walk([body])) > 1 or expensive(body)


def divides_more(x: Any, viewed: Any, ranges: dict) -> bool:
    """Whether to view x in other dims takes divisions that x does not, and that lanes take because no loop is cut at them: it is
    stored first, then. A lane divides as long as many write and read an element ([2,30,35,27] with channels last, as [2,2,14175],
    its sums: 5 us instead of 440, and g++ takes a second less for it)."""
    divided = _divided(viewed)
    if sum(map(len, divided.values())) <= sum(map(len, _divided(x).values())):
        return False
    last = max((d for d, size in enumerate(viewed.sizes) if size is not ONE), default=0)
    return stays_divided(divided, f"i{last}", viewed.sizes[last], ranges)


def _divided(x: Any) -> dict[Expr, set[Expr]]:
    """The indices of a value in which places are divided, and these divisions."""
    own = {f"i{d}" for d in range(x.rank)}
    indices = {n.index for n in walk([x.body]) if n.kind in ("load", "index")}
    return {index: found for index in indices if (found := divisions(index, own))}


def least_tiled(size: int, only_moves: bool) -> int:
    """How many rows, and elements of one, a matrix of elements of `size` bytes has at least that is turned in tiles (three int64 of
    each of 80,000 pixels, moved apart: 46 us instead of 78)."""
    return 8 if not only_moves else 3 if size == 8 else 5


def far_apart(step: Expr, size: int) -> bool:
    """Whether rows of a matrix, of elements of `size` bytes, lie so far apart that all of them share few lines of the cache. Where
    those of what is turned and of the result do, it takes a tile of its own (int8 [64,64,64]: 37 us instead of 150)."""
    return step.is_const and step.value != 0 and step.value * size % 4096 == 0


MOVES = ("flip", "roll", "gather", "tril", "triu")
STOPS = ("any", "all")  # eager stops at the first element that decides
WIDEST_ATTENTION = 128  # numbers of a query, key or value on a device: blocks of more do not fit the registers
EXTREMES = ("max_dim", "min_dim")
KEPT = ("argmax", "argmin", "cat", "cumprod", "index_add", "index_select", "scatter_add", *EXTREMES, *MOVES, *STOPS)


def keeps_op(name: str, args: list, sizes: tuple[Expr, ...], final: bool, few: bool) -> bool:
    """Whether an op runs as itself although loops for it are known: its operands are in memory as they are, so that nothing
    could be computed on the way, and the eager kernel is the better loop. argmax of [512,512]: 45 us instead of 61; cat of two
    bfloat16 [720,720]: 95 instead of 133, by memcpy; of three [52425,5]: 72 instead of 203; cumprod of
    [80,80,80]: 211 instead of 775; roll of [10485,5,5]: 87 instead of 118; triu of bfloat16 [1020,510]: 48 instead of 57.
    `final`: nobody but the caller reads the result, so
    that nothing could be computed behind it either; `few`: nor is
    there much beside it."""
    if name == "index_select":
        return final and keeps_selection(*args)
    if name in ("index_add", "scatter_add"):
        return in_memory(args[0]) and adds_by_op(name, args, final)
    operands = [v for a in args for v in (a if isinstance(a, list) else [a]) if hasattr(v, "buffer_load")]
    if not all(map(in_memory, operands)):
        return False
    if name == "cat":
        rest = prod_(sizes[args[1] % len(sizes) :]) if len(args) > 1 and sizes else prod_(sizes)
        short = len(sizes) > 1 and size(sizes[-1], {}) < SHORT_PIECE
        return final and (short or all(v.dtype in HALF for v in operands)) and size(rest, {}) >= LONG_PIECE
    if name in EXTREMES:
        return final and few and keeps_extreme(*args[:2])
    if name in ("tril", "triu") and size(sizes[-1], {}) < LONG_TRIANGLE_ROW:
        return False
    return name in KEPT and (name not in MOVES or (final and few)) and (name not in STOPS or few)
