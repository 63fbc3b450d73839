"""A core graph → operations on buffers: every node becomes a lazy Value, values become buffers where they must.

Operations (operations.py) come in the order of the graph. Nothing is fused yet.
"""

from __future__ import annotations

from math import prod
from typing import Any

from aten import errors, settings
from aten.fx.node import Node as FxNode
from aten.fx.node import is_final, may_raise
from aten.fx.subgraph import SubGraph
from aten.fx.symbols import binders
from aten.meta import Meta
from aten.records import replaced
from aten.symbolic.expr import ONE, ZERO, Expr, as_expr, eq, evaluate, simplify, substitute, sym
from inductor import choices
from inductor.ir import nodes
from inductor.ir.buffer import PARTS, Buffer, Check, DTypeName, Ref
from inductor.ir.fold import cast
from inductor.ir.index import coefficient, divides, flat, row_major, split_points, without, without_gaps
from inductor.ir.loops import Pointwise, Reduction, Scan, loop_variables
from inductor.ir.nodes import HALF, Node, rewrite_indices
from inductor.ir.scalar import apply
from inductor.lowering import exact
from inductor.lowering.exact import VIEWS
from inductor.lowering.operations import Accumulation, Computed, External, Lowered, Matrix, Operation, Product, Verification
from inductor.lowering.registry import NotLowered, lowering_of
from inductor.lowering.value import Value, domain, number, of_buffer, reindex

COPIES = ("clone", "row_major", "copy")
AS_THEY_LIE = VIEWS | {"view_as_real", "view_as_complex"}  # what may be done with complex numbers in memory
NARROW = ("int8", "uint8", "int16", "uint16")


def line_of(node) -> str:
    """The user's line that a node stands for, for comments and errors."""
    line = node.meta.get("line")
    return "" if line is None else f"{line}  {line.text.strip()}" if getattr(line, "text", None) else str(line)


class GraphLowering:
    """Lowers one graph. `out` is the Meta (or Metas) of the node being lowered."""

    def __init__(self, gm, mutations=()):
        self.gm = gm
        env = getattr(gm, "shape_env", None) or getattr(gm.graph, "shape_env", None)
        self.ranges = dict(env.ranges) if env is not None else {}
        self.hints: dict[str, int] = {}
        self.env = env
        self.bound = binders(gm.graph).keys()
        self.before_jumps = exact.before_jumps(gm.graph.nodes)
        self.buffers: dict[str, Buffer] = {}
        self.operations: list[Operation] = []
        self.values: dict = {}
        self.mutations = mutations
        self.node = None
        self.out = None
        self.device = "cpu"  # where what is being lowered lies
        self.count = 0
        self.products: set[str] = set()
        self.verifications: list[Verification] = []
        self.given: dict[str, Any] = {}  # buffers that are results, by the node that they are the result of

    # ---- what lowerings ask

    def sizes(self, meta) -> tuple[Expr, ...]:
        """The sizes of a value, with what guards say put in: a symbol guarded to be 1 broadcasts as 1 does.

        A size that is known to equal symbols which no input of this graph gives stays as it is.
        """
        sizes = tuple(map(self.known, meta.sizes))
        return sizes if self.env is None else tuple([ONE if self.is_one(e) else e for e in sizes])

    def known(self, size) -> Expr:
        """A size or stride with what guards say of its symbols, where that is in symbols that inputs give."""
        e = as_expr(size)
        found = e if self.env is None else self.env.simplify(e)
        return found if found.free_symbols <= self.bound else e

    def is_one(self, size: Expr) -> bool:
        """Whether guards say that a symbolic size is 1: `n - (n + 1) // 2`, the second half, as it was broadcast."""
        if size.is_const or not size.free_symbols <= self.all_hints().keys() or evaluate(size, self.all_hints()) != 1:
            return False
        return self.env.statically_known(eq(size, 1)) is True

    def check(self, argument: str) -> Check:
        """What a failed check of this node's `argument` reports."""
        return Check(self.node.target.name, argument, line_of(self.node))

    def verified(self, n: Node, sizes) -> Node:
        """A checked node, to hold at every point of a domain of `sizes`."""
        if n.kind == "checked":
            self.verifications.append(Verification(n, tuple(sizes), self.lines()))
        return n

    def condition(self, e: Expr, sizes) -> Node:
        """A bool Expr of the loop variables as a node."""
        return nodes.index(simplify(e, {**self.ranges, **domain(sizes)}), "bool")

    def storage_offset(self, name: str) -> int | None:
        """Where an input's first element lies in its storage; None if that is not known to be one number."""
        offset = getattr(self.buffers[name], "offset", 0)
        return 0 if self.buffers[name].kind == "computed" else self.offsets.get(name, offset)

    def lines(self) -> tuple[str, ...]:
        text = line_of(self.node) if self.node is not None else ""
        return (text,) if text else ()

    def new_buffer(self, dtype: str, sizes, strides=None, **kw) -> Buffer:
        self.count += 1
        sizes = tuple(map(as_expr, sizes))
        strides = row_major(sizes) if strides is None else tuple(map(as_expr, strides))
        device = self.buffers[kw["base"]].device if "base" in kw else self.device
        b = Buffer(f"buf{self.count - 1}", dtype, sizes, strides, device=device, **kw)
        self.buffers[b.name] = b
        return b

    def computed(self, loops: Reduction | Scan, dtype: str, sizes, dropped: tuple[int, ...]) -> Value:
        """The result of a reduction or scan, in a buffer: `dropped` are the dims of the domain that it does not
        have."""
        b = self.new_buffer(dtype, sizes)
        i = loop_variables(len(loops.sizes))
        left = [v for d, v in enumerate(i) if d not in dropped]
        self.operations.append(Computed(b.name, loops, flat(left, b.strides), dtype, self.lines()))
        return of_buffer(b)

    def accumulated(self, start: Node, sizes, dtype: str, over, reduced, where, body: Node, kind: str = "accumulate") -> Value:
        """A buffer that starts as `start` (over i0, i1, …) and takes += body (or what `kind` says) at the indices `where` of the
        domain `over`. Halves are added up as float32: each sum in their own type would lose what is small beside it."""
        result = dtype
        if kind == "accumulate" and (dtype in HALF or (dtype in NARROW and self.device != "cpu")):
            dtype = "float32" if dtype in HALF else "int32"  # (no device adds fewer than 32 bits at once)
        b = self.new_buffer(dtype, sizes)
        i = loop_variables(len(sizes))
        self.operations.append(Computed(b.name, Pointwise(tuple(sizes), start), flat(i, b.strides), dtype, self.lines()))
        index = flat([w.symbol if isinstance(w, Node) else w for w in where], b.strides)
        loops = Accumulation(tuple(over), reduced, body, index, tuple(w for w in where if isinstance(w, Node)), kind)
        self.operations.append(Computed(b.name, loops, index, dtype, self.lines()))
        value = of_buffer(b)
        if dtype == result:
            return value
        body = cast(value.body, result) if result in NARROW else apply(f"round_{result}", value.body)
        return Value(value.sizes, result, body)

    def matmul(self, a: Value, b: Value) -> Value:
        """a @ b, with or without batch dims."""
        sizes = self.sizes(self.out)
        batch = self.batch_sizes(sizes[0], (a, b)) if len(sizes) == 3 else ()
        left, right = self.matrix(a, batch), self.matrix(b, batch)
        buffer = self.new_buffer(self.out.dtype.name, sizes)
        self.operations.append(Product(buffer.name, sizes, a.sizes[-1], left, right, buffer.dtype, batch, self.lines()))
        self.products.add(buffer.name)
        return of_buffer(buffer)

    def batch_sizes(self, size: Expr, operands) -> tuple[Expr, ...]:
        """The batch dim cut where the operands' indices divide it: heads and batch of an attention lie apart."""
        indices = [x.body.index for x in operands if x.buffer_load is not None and not x.body.args]
        cuts = [p for p in split_points(indices, "i0") if (q := divides(p, size)) is not None and q is not ONE]
        if len(cuts) != 1:
            return (size,)
        return (divides(cuts[0], size), cuts[0])

    def matrix(self, x: Value, batch: tuple[Expr, ...]) -> Matrix:
        """x by strides in a buffer; stored first, in the order of what it reads, if it is not in one."""
        found = self.layout(self.cut(x, batch))
        if found is None:
            found = self.layout(self.cut(self.stored_operand(x), batch))
        name, offset, strides = found
        return Matrix(name, self.buffers[name].dtype, offset, strides)

    def stored_operand(self, x: Value) -> Value:
        """x in a buffer: one matrix where all of a batch are the same (the gradients of addbmm: 3.4 ms instead of 7.5)."""
        if x.rank < 3 or x.sizes[0] is ONE or "i0" in x.body.symbols:
            return self.realize(x, self.natural_strides(x))
        one = Value((ONE, *x.sizes[1:]), x.dtype, x.body)
        return reindex(self.realize(one, self.natural_strides(one)), x.sizes, lambda i: [ZERO, *i[1:]], self.ranges)

    def cut(self, x: Value, batch: tuple[Expr, ...]) -> Value:
        """x with its first dim as two, if there are two batch sizes."""
        if len(batch) < 2:
            return x
        return reindex(x, (*batch, *x.sizes[1:]), lambda i: [i[0] * batch[1] + i[1], *i[2:]], self.ranges)

    def dominant(self, body: Node, rank: int) -> list[Expr] | None:
        """The strides by i0, i1, … of the load that depends on the most dims."""
        best = None
        for n in nodes.loads([body]):
            steps = [coefficient(n.index, f"i{d}") for d in range(rank)]
            if n.args or any(c is None or not c.is_const or c.value < 0 for c in steps):
                continue
            weight = (sum(c.value > 0 for c in steps), n.buffer in self.products)
            if best is None or weight > best[0]:
                best = (weight, steps)
        return best[1] if best is not None else None

    def natural_strides(self, x: Value) -> tuple[Expr, ...] | None:
        """Dense strides in the order of what x mostly reads, so that storing it transposes nothing."""
        steps = self.dominant(x.body, x.rank)
        if steps is None:
            return None
        order = sorted(range(x.rank), key=lambda d: (-steps[d].value if steps[d].value else 0, d))
        strides, step = {}, ONE
        for d in reversed(order):
            strides[d], step = step, step * x.sizes[d]
        return tuple(strides[d] for d in range(x.rank))

    # ---- buffers

    def layout(self, x: Value) -> tuple[str, Expr, tuple[Expr, ...]] | None:
        """(buffer, offset, strides) if x is nothing but elements of a buffer by strides."""
        n = x.buffer_load
        if n is None or n.args or self.buffers[n.buffer].dtype != x.dtype:
            return None
        offset, strides = n.index, []
        for d, step in enumerate(row_major(x.sizes)):
            c = coefficient(n.index, f"i{d}")
            if c is None or (c.is_const and c.value < 0):
                return None
            strides.append(step if x.sizes[d] is ONE else c)
            offset = without(offset, f"i{d}")
        return n.buffer, offset, tuple(strides)

    def realize(self, x: Value, strides=None, lines: tuple[str, ...] | None = None) -> Value:
        """x stored in a buffer of its own."""
        b = self.new_buffer(x.dtype, x.sizes, strides)
        if x.dtype in PARTS and self.device != "cpu" and x.buffer_load is not None:
            self.operations.append(self.pairs_of(x, b, flat(loop_variables(x.rank), b.strides), lines))
            return of_buffer(b)
        if x.dtype.startswith("complex"):
            own = self.lines() if lines is None else lines
            self.operations.append(External("row_major", (Ref(self.as_buffer(x)),), {}, (b.name,), own))
            return of_buffer(b)
        loops, store = self.in_order_of_product(Pointwise(x.sizes, x.body), flat(loop_variables(x.rank), b.strides))
        self.operations.append(Computed(b.name, loops, store, x.dtype, self.lines() if lines is None else lines))
        return of_buffer(b)

    def pairs_of(self, x: Value, b: Buffer, store: Expr, lines=None, mutates: bool = False) -> Computed:
        """The copy of complex numbers, as pairs of floats, into a buffer of a device."""
        n, part = x.body, PARTS[x.dtype]
        last = sym(f"i{x.rank}")
        loops = Pointwise((*x.sizes, as_expr(2)), nodes.load(n.buffer, n.index * 2 + last, part))
        own = self.lines() if lines is None else lines
        return Computed(b.name, loops, store * 2 + last, part, own, mutates=mutates)

    def in_order_of_product(self, loops: Pointwise, store: Expr) -> tuple[Pointwise, Expr]:
        """The loops in the order of a matrix product that they read in another, so that they can become its
        epilogue."""
        read = [n for n in nodes.loads([loops.body]) if n.buffer in self.products and not n.args]
        if not read:
            return loops, store
        sizes, values = [], {}
        for d, size in enumerate(loops.sizes):
            cuts = [
                p for p in split_points([n.index for n in read], f"i{d}") if (q := divides(p, size)) is not None and q is not ONE
            ]
            if len(cuts) == 1:
                values[f"i{d}"] = (len(sizes), cuts[0])
                sizes += [divides(cuts[0], size), cuts[0]]
            else:
                values[f"i{d}"] = (len(sizes), None)
                sizes.append(size)
        fine = loop_variables(len(sizes))
        at = {k: fine[j] if cut is None else fine[j] * cut + fine[j + 1] for k, (j, cut) in values.items()}
        known = {**self.ranges, **domain(sizes)}
        steps = [coefficient(simplify(substitute(read[0].index, at), known), f"i{d}") for d in range(len(sizes))]
        if any(c is None or not c.is_const or c.value < 0 for c in steps):
            return loops, store
        order = sorted(range(len(sizes)), key=lambda d: -steps[d].value)
        if order == list(range(len(sizes))):
            return loops, store
        place = {f"i{d}": sym(f"i{k}") for k, d in enumerate(order)}
        at = {k: substitute(e, place) for k, e in at.items()}
        sizes = tuple(sizes[d] for d in order)
        known = {**self.ranges, **domain(sizes)}
        body = rewrite_indices(loops.body, lambda e: simplify(substitute(e, at), known), {})
        return Pointwise(sizes, body), simplify(substitute(store, at), known)

    def as_buffer(self, x: Value, exactly: tuple[Expr, ...] | None = None) -> str:
        """The name of a buffer that holds x: its own, a view of one, or a new one. `exactly`: its strides, where those of
        dims of one element count too."""
        found = self.layout(x)
        if found is None:  # (what is stored here has the strides it was given, whatever form its index takes)
            b = self.buffers[self.realize(x).body.buffer]
            found = b.name, ZERO, b.strides
        name, offset, strides = found
        strides = strides if exactly is None else exactly
        b = self.buffers[name]
        if offset is ZERO and b.sizes == x.sizes and b.strides == strides:
            return name
        for v in self.buffers.values():
            if v.base == name and v.sizes == x.sizes and v.strides == strides and as_expr(v.offset) is offset:
                return v.name
        return self.new_buffer(b.dtype, x.sizes, strides, kind="view", base=name, offset=offset).name

    def as_eager(self, x: Value, meta) -> str:
        """The name of a buffer that holds x with the strides that eager has, those of dims of one element too: what a kernel
        adds first may depend on them."""
        x, strides = self.stored_as_eager(x, meta), tuple(map(self.known, meta.strides))
        found = self.layout(x)
        return self.as_buffer(x, strides if found is not None and same_layout(x, found[2], strides) else None)

    def stored_as_eager(self, x: Value, meta) -> Value:
        found, strides = self.layout(x), tuple(map(self.known, meta.strides))
        if found is not None and same_layout(x, found[2], strides):
            return x
        sizes = self.sizes(meta)
        known = all(e.is_const for e in (*sizes, *strides))  # else in rows; a sum has the order of its dims in memory
        return self.realize(x, without_gaps(sizes, strides) if known else self.dense(meta))

    def stored(self, n) -> Buffer:
        """The buffer whose memory a node's value shares with what it is a view of, laid out as in eager."""
        base = base_of(n)
        value, meta = self.values[base], base.meta["val"]
        found, strides = self.layout(value), tuple(map(self.known, meta.strides))
        if found is None or not same_layout(value, found[2], strides) or self.buffers[found[0]].base is not None or (
            base.op != "placeholder" and found[1] is not ZERO
        ):  # fmt: skip
            value = self.values[base] = self.realize(value, strides)
        return self.buffers[value.buffer_load.buffer]

    # ---- the walk

    def run(self) -> Lowered:
        inputs = [self.placeholder(n) for n in self.gm.graph.placeholders]
        for n in self.gm.graph.nodes:
            if n.op == "call_function":
                self.node, self.out = n, n.meta.get("val")
                self.device = device_of(self.out) or self.device
                self.values[n] = self.call(n)
        self.node = None
        outputs = [self.output(o) for o in self.gm.graph.outputs]
        mutated = self.mutate(inputs, outputs)
        verifications = tuple(dict.fromkeys(self.verifications))
        return Lowered(
            tuple(inputs),
            self.buffers,
            self.operations,
            outputs,
            self.ranges,
            self.all_hints(),
            mutated,
            verifications,
        )

    def all_hints(self) -> dict[str, int]:
        """Likely values of the symbols; unbacked ones have none."""
        return {} if self.env is None else {k: v for k, v in self.env.hints.items() if isinstance(v, int)}

    def placeholder(self, n):
        val = n.meta["val"]
        if not hasattr(val, "sizes"):
            self.values[n] = as_expr(val)
            return self.values[n]
        device = device_of(val)
        sizes = tuple(map(as_expr, val.sizes))  # as they are: this is where symbols get their values
        b = Buffer(n.name, val.dtype.name, sizes, tuple(map(as_expr, val.strides)), "input", device=device)
        self.buffers[n.name] = b
        self.values[n] = of_buffer(replaced(b, sizes=self.sizes(val), strides=tuple(map(self.known, val.strides))))
        return n.name

    @property
    def offsets(self) -> dict[str, int]:
        out = {}
        for n in self.gm.graph.placeholders:
            val = n.meta["val"]
            if hasattr(val, "sizes") and isinstance(val.offset, int):
                out[n.name] = val.offset
        return out

    def argument(self, a):
        """A node's argument as lowerings see it."""
        if type(a) in (tuple, list):
            return [self.argument(x) for x in a]
        if type(a) is FxNode:
            return self.values[a]
        inner = getattr(a, "expr", None)
        return inner if isinstance(inner, Expr) else a

    def call(self, n):
        if not hasattr(n.target, "name"):  # operator.getitem
            return self.values[n.args[0]][n.args[1]]
        args = [self.argument(a) for a in n.args]
        kwargs = {k: self.argument(a) for k, a in n.kwargs.items()}
        fn = lowering_of(n.target.name)
        before = len(self.operations), len(self.verifications)
        try:
            if settings.exact and not exact.lowers(n):
                raise NotLowered(f"{n.target.name} adds in an order of its own")
            if fn is None or self.kept(n, args) or (self.is_complex(args) and not self.moves_as_it_lies(n.target.name)):
                raise NotLowered(n.target.name)
            if exact.decides(n) or n in self.before_jumps:
                args = exact.in_half(args, self.is_rounded)
            value = fn(self, *args, **kwargs)
            if self.is_complex([value]) and self.layout(value) is None:
                raise NotLowered("elements of complex numbers in another order")
            return self.settled(n, value)
        except NotLowered:
            pass
        except Exception as e:  # costs this op a step, not the function its kernels
            errors.internal(f"lowering {n.target.name}", e)
        del self.operations[before[0] :]
        del self.verifications[before[1] :]
        return self.external(n, args, kwargs)

    def is_complex(self, values) -> bool:
        """Whether complex numbers or floats of eight bits are among the values or results: they are in memory only."""
        flat_values = [v for x in values for v in (x if isinstance(x, (list, tuple)) else (x,))]
        metas = self.out if isinstance(self.out, (list, tuple)) else (self.out,)
        dtypes = [v.dtype for v in flat_values if isinstance(v, Value)]
        dtypes += [m.dtype.name for m in metas if hasattr(m, "dtype")]
        return any(d.startswith(("complex", "float8")) for d in dtypes)

    def moves_as_it_lies(self, name: str) -> bool:
        """Whether an op may be lowered for complex numbers in memory: on the CPU it copies them itself."""
        return name in AS_THEY_LIE or (name in COPIES and self.device != "cpu")

    def kept(self, n, args) -> bool:
        """Whether the op is better run as it is."""
        if n.target.name not in choices.KEPT or self.device != "cpu":
            return False
        several = isinstance(self.out, (tuple, list))
        final = all(map(is_final, n.users)) if several else is_final(n)
        sizes = self.sizes(self.out[0] if several else self.out)
        return choices.keeps_op(n.target.name, args, sizes, final, choices.few_ops(self.gm.graph))

    def settled(self, n, value):
        """The value as the node's users see it: in a buffer of its own if many of them would compute it again."""
        if not isinstance(value, Value):
            return value
        value = exact.in_half(value, self.is_rounded) if settings.exact or n in self.before_jumps else value
        if settings.exact and target_name(n) not in VIEWS and exact.stored_for_steps(n):
            return self.stored_as_eager(value, n.meta["val"])
        users = sum(1 for u in n.users if u.op != "output") + any(u.op == "output" for u in n.users)
        if choices.realize(value.body, users) or choices.repeats(value.body, *self.times_read(n)) or self.widens_product(n, value):
            return self.realize(value, self.dense(n.meta.get("val")))
        return value

    def is_rounded(self, n) -> bool:
        """Whether what a load gives was rounded to its dtype: what a fused loop has stored comes from a register."""
        return settings.exact or self.buffers[n.buffer].kind == "input"

    def widens_product(self, n, value: Value) -> bool:
        """Whether a product of halves is asked for as float32 alone: its sums are stored as they are then, in its epilogue, instead
        of rounded (scores of attention, whose softmax has hundreds of them in its sums and takes exp of each)."""
        body = value.body
        whole = target_name(n) == "cast" and body.kind == "load" and body.buffer in self.products and len(n.args[0].users) == 1
        return whole and value.dtype == "float32" and self.buffers[body.buffer].dtype in HALF and not settings.exact

    def times_read(self, n) -> tuple[int, int]:
        """How often an op computes an element of a node's value anew, were it made of loops: along dims that lie outside of the
        value's own, and along those inside. 1 where sizes are not known."""
        outside = inside = 1
        for user in n.users:
            if choices.lies_beside(user):
                continue
            own, of = (x.meta.get("val") for x in (n, user))
            if type(own) is type(of) is Meta and all(type(s) is int for s in (*own.sizes, *of.sizes)) and own.ndim <= of.ndim:
                sizes = (1,) * (of.ndim - own.ndim) + tuple(own.sizes)
                last = max((d for d, s in enumerate(sizes) if s != 1), default=0)
                times = [b if a == 1 else 1 for a, b in zip(sizes, of.sizes)]
                outside, inside = max(outside, prod(times[:last])), max(inside, prod(times[last:]))
        return outside, inside

    def dense(self, meta) -> tuple[Expr, ...] | None:
        """The strides that the op's rule gives its result, if those are a permutation without gaps."""
        if meta is None or not hasattr(meta, "strides"):
            return None
        sizes, strides = self.sizes(meta), tuple(map(self.known, meta.strides))
        if any(not s.is_const for s in strides) or any(not s.is_const for s in sizes):
            return strides if strides == row_major(sizes) or (settings.exact and exact.dense_symbols(sizes, strides)) else None
        return strides if strides == without_gaps(sizes, strides) else None

    # ---- ops without loops

    def external(self, n, args, kwargs):
        out = n.meta["val"]
        metas = out if isinstance(out, (tuple, list)) else (out,)
        outputs = tuple(self.new_buffer(m.dtype.name, self.sizes(m), tuple(map(self.known, m.strides))).name for m in metas)
        tags = getattr(n.target, "tags", ())
        self.operations.append(
            External(
                n.target.name,
                tuple(self.extern_argument(a, x) for a, x in zip(args, n.args)),
                {k: self.extern_argument(a, n.kwargs[k]) for k, a in kwargs.items()},
                outputs,
                self.lines(),
                "dynamic" in tags,
                may_raise(n),
            )
        )
        values = tuple(of_buffer(self.buffers[name]) for name in outputs)
        return values if isinstance(out, (tuple, list)) else values[0]

    def operand(self, a: Value, given) -> Ref:
        """A buffer that holds an argument of a step; a user's op gets it as eager lays it out."""
        exactly = (settings.exact or "library" in getattr(self.node.target, "tags", ())) and type(given) is FxNode
        return Ref(self.as_eager(a, given.meta["val"]) if exactly else self.as_buffer(a))

    def extern_argument(self, a, given):
        """An argument of a step; `given` is how it stands in the graph."""
        if isinstance(a, Value):
            here, self.device = self.device, device_of(getattr(given, "meta", {}).get("val")) or self.device
            try:
                return self.operand(a, given)
            finally:
                self.device = here
        if isinstance(a, (list, tuple)):
            return tuple(self.extern_argument(x, y) for x, y in zip(a, given))
        if hasattr(a, "itemsize") and hasattr(a, "name"):
            return DTypeName(a.name)
        if isinstance(a, SubGraph):
            return a.named()
        return a

    # ---- results

    def output(self, o):
        if o is None or isinstance(o, (int, float, bool)):
            return None if o is None else as_expr(o)
        if hasattr(o, "expr") and isinstance(o.expr, Expr):
            return o.expr
        value = self.values[o]
        if not isinstance(value, Value):
            return as_expr(value)
        if o.op == "placeholder":
            return o.name
        self.node = o
        meta = o.meta["val"]
        self.device = device_of(meta)
        strides = tuple(map(self.known, meta.strides))
        found, base = self.layout(value), base_of(o)
        copies = target_name(base) in COPIES  # what a clone returns shares memory with nothing
        if found is not None and same_layout(value, found[2], strides) and not copies:
            computed = self.buffers[found[0]].kind == "computed"
            own = not computed or self.given.setdefault(found[0], base) is base  # (x * 1 is x to loops, to callers a copy)
            if own and (computed or (base is not o and base.op == "placeholder")):
                return self.as_buffer(value, strides)
        name = self.as_buffer(self.realize(value, strides), strides)
        if not copies:
            self.values[o] = of_buffer(self.buffers[name])
        return name

    def mutate(self, inputs, outputs) -> tuple[str, ...]:
        """Write the new values of mutated inputs into them; their outputs are then the inputs themselves."""
        done = []
        for i, o in self.mutations:
            name, node = inputs[i], self.gm.graph.outputs[o]
            b = self.buffers[name]
            away = b.device != "cpu" and b.dtype in PARTS
            if outputs[o] == name or (b.dtype.startswith("complex") and not away):
                continue  # (what no loop can write is copied at the end)
            value = of_buffer(self.buffers[outputs[o]]) if isinstance(outputs[o], str) else number(outputs[o], b.dtype)
            self.node = node
            self.device = b.device
            index = flat(loop_variables(len(b.sizes)), b.strides)
            if away:
                self.operations.append(self.pairs_of(value, b, index, mutates=True))
                outputs[o] = name
                done.append(name)
                continue
            self.operations.append(Computed(name, Pointwise(b.sizes, value.body), index, b.dtype, self.lines(), mutates=True))
            outputs[o] = name
            done.append(name)
        return tuple(done)


def device_of(val) -> str:
    """Where a value lies, an index included: "cpu", "cuda:0"; empty for what lies nowhere."""
    if isinstance(val, (tuple, list)):
        return next(filter(None, map(device_of, val)), "")
    device = getattr(val, "device", None)
    if device is None:
        return ""
    return "cpu" if device.type == "cpu" else f"{device.type}:{device.index or 0}"


def target_name(n) -> str | None:
    """The name of the op that a node calls."""
    return getattr(n.target, "name", None) if n.op == "call_function" else None


def base_of(n):
    """The node at which a chain of views begins."""
    while target_name(n) in VIEWS:
        n = n.args[0]
    return n


def same_layout(x: Value, have, want) -> bool:
    """Whether strides agree where a dim has more than one element."""
    return all(a is b or s is ONE for a, b, s in zip(have, want, x.sizes))


def lower(gm, mutations=()) -> Lowered:
    """Operations on buffers that compute a core graph. `mutations`: (input, output) pairs, the input's new value being
    that output."""
    return GraphLowering(gm, tuple(mutations)).run()
