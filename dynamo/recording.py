"""Recording of op calls: arguments to nodes, results from the shape rule, gradients and mutations noted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from aten import _native, autocast, errors, out_dtypes
from aten.errors import NoShapeRule
from aten.meta import Meta, known_equal, may_show_twice, overlap, shows_twice
from aten.meta_of_call import meta_call
from aten.on_device import makes_elsewhere
from aten.op import registry
from aten.promotion import can_cast
from aten.symbolic.shape_env import DataDependentError
from aten.symbolic.symint import SYMBOLIC, SymBool, SymFloat, SymInt
from dynamo import breaks, config, data_writes, guards, on_demand, promises, saved
from dynamo.breaks import NotConstant, Unsupported
from dynamo.variables import logged
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE, ConstantVariable
from dynamo.variables.exception import as_raised, raise_exception
from dynamo.variables.function import FunctionVariable, MethodVariable, PartialVariable
from dynamo.variables.object import ObjectVariable
from dynamo.variables.sequence import NamedTupleVariable, SequenceVariable, SliceVariable, TupleVariable
from dynamo.variables.tensor import TensorVariable, any_wrapper, has_mask, wrap_result
from dynamo.variables.tensor_values import to_python
from dynamo.views import COPIES, VIEWS, is_at_number, through_gaps, viewed_by, writes

if TYPE_CHECKING:
    from aten.op import Op

# Of the second tensor these see its form alone.
LIKE_ANOTHER = frozenset("type_as to view_as expand_as reshape_as".split())
# What a shape rule raises for arguments that eager refuses too; anything else is an error of the rule.
SHAPE_ERRORS = (
    RuntimeError, IndexError, TypeError, ValueError, NotImplementedError, ZeroDivisionError, OverflowError
)  # fmt: skip
CALLABLES = (FunctionVariable, MethodVariable, PartialVariable, ObjectVariable)
PLAIN: dict[type, Any] = {SymInt: int, SymFloat: float, SymBool: bool}
# Results that never require grad.
CONSTANTS = frozenset("detach detach_ zeros_like ones_like full_like empty_like rand_like randn_like".split())


def is_plain(values: Iterable[Variable]) -> bool:
    """Whether all are constants, and tensors of no subclass: there is nothing in them, and nobody to ask about them."""
    for v in values:
        if type(v) is TensorVariable:
            if v.is_of_subclass:
                return False
        elif type(v) is not ConstantVariable:
            return False
    return True


def out_of(output, op: Op, args: Any, kwargs: Any) -> tuple[Any, Any, TensorVariable | None]:
    """The arguments without `out=`, and the tensor that was given for it."""
    if len(args) > 4 and op.positional_out is not None:
        args, kwargs = op.positional_out(args, kwargs, TensorVariable)
    if "out" not in kwargs or "out" in {p.name for p in op.schema.params}:
        return args, kwargs, None
    target = kwargs.pop("out")
    if not isinstance(target, TensorVariable):
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} with several out=")
    if output.grad_enabled and any(t.meta.requires_grad for t in tensors_of([target, *args, *kwargs.values()])):
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} with out= and a tensor that requires grad, which eager refuses")
    return args, kwargs, target


def record(output, frame, op: Op, args: list[Variable], kwargs: dict[str, Variable], plain: bool = False) -> Variable:
    """Record op(*args, **kwargs) and return its result. Raises in the traced program where the shape rule raises.

    plain: the arguments are known to be (`is_plain`).
    """
    if not plain and any_wrapper([*args, *kwargs.values()]):
        return on_demand.import_part("wrapper").record(output, frame, op, args, kwargs)
    if output.default_device is not None:
        kwargs = placed(frame, op, args, kwargs)
    if not plain and op.kind == "composite" and takes_a_function(op, args, kwargs):
        return defined(frame, op, args, kwargs)
    if "requires_grad" in kwargs and kwargs["requires_grad"].truth(frame):
        raise Unsupported(breaks.MUTATED_ALIAS, "a new leaf that requires grad")
    if output.unrecorded:
        refuse_unrecorded(output, op, [*args, *kwargs.values()])
    if output.has_inference and not output.ambient & guards.INFERENCE:
        refuse_of_inference(output, op, args, kwargs)
    args, kwargs, target = out_of(output, op, args, kwargs)
    if "relayout" in op.tags:
        return relaid(output, frame, op, args, kwargs)
    if op.name in ("getitem", "setitem"):
        args = [args[0], bounds_read(frame, args[1]), *args[2:]]
    elif not plain or places_numbers(op, args, kwargs):
        args, kwargs = numbers_read(frame, op, args, kwargs)
    val, taken = result_of(output, frame, op, args, kwargs)
    if op.name in ("as_strided", "view_as_complex"):
        on_demand.import_part("places_of_views").CHECKS[op.name](output, args[0], val)
    given = [*args, *kwargs.values()]
    if target is not None and not (fits_now(val, target.as_meta()) and _may_be_cast(op, given, val.dtype, target.as_meta().dtype)):
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} with an out= that does not fit the result")
    if target is not None and not {"reduction", "matmul"} & op.tags:
        check_overlap(op, [target, *args], kwargs, target)
    is_written, written = writes(op), None
    if is_written and args:
        own_gradient(output, frame, args[0])
        written = data_writes.opened(output, frame, args, kwargs)
    node_args, node_kwargs = arguments(output, op, args, kwargs)
    if is_written:
        check_target(output, frame, op, args, kwargs)
    output.graph.line = output.user_line()
    node = output.graph.call_function(op, node_args, node_kwargs, val=val)
    output.note_modes(node)
    note_handlers(output, frame, node)
    if is_written:
        if op.name == "setitem" and has_mask(args[1]):
            node.meta["whole"] = True
        if taken is not None:
            promises.write_checks(output.graph, output.shape_env, taken, node, val)
        result = inplace_result(output, frame, op, args, kwargs)
        if written is not None:
            data_writes.close(output, frame, args[0], written)
        return result
    if op.kind == "composite" and type(val) is Meta and (same := given_as(val, args)) is not None:
        return same
    root = view_root(op, args, val)
    set_requires_grad(output, op, val, [] if saved.is_cut(node) else [*args, *kwargs.values()] if kwargs else args)
    result = wrap_result(frame, node, val, root)
    if root is not None and not output.grad_enabled and not saved.is_cut(node):
        note_unrecorded(output, args[0], result)
    if taken is not None:
        promises.write_checks(output.graph, output.shape_env, taken, node, val)
    if op.name == "getitem" and is_at_number(node_args[1]):
        node.meta["by number"] = frame.output.root.group_step
        if isinstance(args[0], TensorVariable) and isinstance(result, TensorVariable):
            output.copied_views.setdefault(args[0].root, node.meta["by number"])
            result.taken = args[0], args[1]
    if op.name in OF_SEVERAL and root is not None:
        for part in node.users:
            part.meta["one of several"] = op.name
    if op.name == "broadcast_tensors":  # those that have the common sizes are returned as they are
        parts = result.unpack(frame)
        result = frame.values.tuple_([given_as(v, args) or part for v, part in zip(val, parts)])
    if target is not None:
        record(output, frame, registry["copy_"], [target, result], {})
        return target
    return result


def note_handlers(output, frame, node) -> None:
    """Remember of a node that the program handles what it raises."""
    if frame.is_caught():
        from dynamo import caught  # (what few programs ask for)

        caught.note(output, frame, node)


def _may_be_cast(op: Op, args, dtype, out) -> bool:
    given = [a.as_meta() for a in args if isinstance(a, TensorVariable)]
    return can_cast(dtype, out) and not out_dtypes.decides(op, dtype, out) and out_dtypes.refusal(op, given, out, dtype) is None


def placed(frame, op: Op, args: list[Variable], kwargs: dict[str, Variable]) -> dict[str, Variable]:
    """The named arguments, with the default device where a tensor is made and none is named: what runs the graph asks no mode."""
    given = {k: v for k, v in kwargs.items() if k != "device" or not v.is_same(frame.values.NONE)}
    makes = makes_elsewhere(op, len(args), given)
    return {**kwargs, "device": frame.values.const(frame.output.default_device)} if makes else kwargs


def given_as(val: Meta, args: list[Variable]) -> TensorVariable | None:
    """The argument that an op returns as it is, as `contiguous` and `to` do where there is nothing to do."""
    return next((a for a in args if isinstance(a, TensorVariable) and a.meta is val), None)


def relaid(output, frame, op: Op, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """A view op in place: a tensor that the graph made is from now on the view; views made before stay what they are."""
    target = args[0]
    own = isinstance(target, TensorVariable) and target.source is None and target.value is None and not target.is_of_subclass
    if not isinstance(target, TensorVariable) or not own or target.node.graph is not output.graph:
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} changes the layout of a tensor in place")
    check_leaf(output, frame, target)
    made = record(output, frame, registry[op.name.removesuffix("_")], args, kwargs)
    assert isinstance(made, TensorVariable)
    target.node, target.meta, target.known = made.node, made.meta, None
    return target


NUMBERS = frozenset({"int", "IntOrDType", "float", "Scalar"})  # types of parameters for which a tensor of one element stands


def places_numbers(op: Op, args: list[Variable], kwargs: dict[str, Variable]) -> bool:
    """Whether a tensor may be given for a number, of plain arguments."""
    params = op.schema.params
    if kwargs or op.schema.variadic >= 0 or len(args) > len(params):
        return True
    for param, v in zip(params, args):
        if type(v) is TensorVariable and param.type in NUMBERS:
            return True
    return False


def numbers_read(frame, op: Op, args: list[Variable], kwargs: dict[str, Variable]) -> tuple[list[Variable], dict]:
    """The arguments, with the number in the place of a tensor that is given for one: an item() that the program does not show."""
    params, spread = op.schema.params, op.schema.variadic
    if len(args) > spread >= 0 and isinstance(args[spread], SequenceVariable):
        spread = -1  # given as one sequence, behind which the others stand
    at = lambda i, v: spread if i > spread >= 0 and isinstance(v, TensorVariable) else min(i, len(params) - 1)
    given = [(params[at(i, v)], v) for i, v in enumerate(args)]
    named = [(params[op.schema.index[k]] if k in op.schema.index else None, v) for k, v in kwargs.items()]
    found = [number_read(frame, p, v) for p, v in (*given, *named)]
    return found[: len(args)], dict(zip(kwargs, found[len(args) :]))


def number_read(frame, param: Any, v: Variable) -> Variable:
    if param is None or param.type not in NUMBERS:
        return v
    if isinstance(v, TensorVariable):
        real = param.type in ("float", "Scalar") or not v.meta.dtype.is_floating_point
        return to_python(frame, v, "item") if real and not v.meta.sizes else v
    if param.is_list and isinstance(v, SequenceVariable) and any(isinstance(x, TensorVariable) for x in v.unpack(frame)):
        return frame.values.tuple_([number_read(frame, param, x) for x in v.unpack(frame)])
    return v


def bounds_read(frame, key: Variable) -> Variable:
    """An index, with the numbers in the place of tensors that bound slices."""
    if isinstance(key, TupleVariable) and any(isinstance(k, SliceVariable) for k in key.items):
        return TupleVariable([bounds_read(frame, k) for k in key.items])
    if isinstance(key, SliceVariable) and any(isinstance(p, TensorVariable) for p in key.parts):
        return SliceVariable([to_python(frame, p, "__index__") if isinstance(p, TensorVariable) else p for p in key.parts])
    return key


def takes_a_function(op: Op, args: list[Variable], kwargs: dict[str, Variable]) -> bool:
    """Whether a function, or an object that can be called, is given for a parameter that takes anything."""
    if not any(isinstance(v, CALLABLES) for v in (*args, *kwargs.values())):
        return False
    anything = {p.name for p in op.schema.params if p.type == "Any"}
    given = {**dict(zip((p.name for p in op.schema.params), args)), **kwargs}
    return any(name in anything and isinstance(v, CALLABLES) and callable_class(v) for name, v in given.items())


def callable_class(v: Variable) -> bool:
    return not isinstance(v, ObjectVariable) or hasattr(v.python_type(), "__call__")  # noqa: B004 (of the class)


def defined(frame, op: Op, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """What the definition of an op gives that takes a function, which is traced as a function of Python is."""
    given = {**dict(zip((p.name for p in op.schema.params), args)), **kwargs}
    try:
        full = [given[p.name] if p.name in given else frame.values.literal(frame, p.default) for p in op.schema.params]
    except (KeyError, AttributeError) as e:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} without an argument") from e
    return frame.world.known(op.function).call(frame, full, {}).realize(frame)


def result_of(output, frame, op: Op, args, kwargs) -> tuple[Any, promises.Promises | None]:
    """What the shape rule answers, and what was promised for it."""
    try:
        metas = [a.as_meta() for a in args]
        named = {k: v.as_meta() for k, v in kwargs.items()} if kwargs else {}
    except NotConstant as e:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} of {e.args[0].describe()}") from None
    before = _native.set_ambient_bits(autocast.ON, 0)  # its casts are in the graph
    try:
        return shape_rule(op, metas, named), None
    except DataDependentError as e:
        return promised_result(output, op, metas, named, e)
    except NoShapeRule as e:
        raise Unsupported(breaks.UNKNOWN_CALL, str(e)) from e
    except SHAPE_ERRORS as e:
        if any(isinstance(a, NamedTupleVariable) or getattr(a, "native", None) is not None for a in (*args, *kwargs.values())):
            raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name}, which raises") from e  # its text may name the class
        if writes(op) and any(is_leaf(output, frame, t.root) for t in tensors_of([*args, *kwargs.values()][:1])):
            raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name}, refused for its arguments and for a leaf: eager says which") from e
        raised = as_raised(frame, e)
        raised.of_rule = True
        raise raised from e
    finally:
        _native.set_ambient_bits(autocast.ON, before)


errors.hearers[result_of.__code__] = logged.heard_while_captured


def promised_result(output, op: Op, metas: list, named: dict, error: DataDependentError) -> Any:
    """What the shape rule answers where sizes that are not known yet decide it, and the promises that the graph checks."""
    sizes = promises.captures_sizes(output)
    if not (sizes or config.capture_scalar_outputs):
        raise Unsupported(breaks.DATA_DEPENDENT_SIZE, str(error)) from error
    if op.name == "setitem" and sizes:  # which checks by itself what it is given, and has no result
        return None, None
    env = output.shape_env
    try:
        return promises.through(env, lambda: symbolic_rule(op, metas, named), SHAPE_ERRORS, sizes)
    except promises.Refused as e:
        raise Unsupported(breaks.DATA_DEPENDENT_SIZE, str(e)) from error


def shape_rule(op: Op, metas: list, named: dict) -> Any:
    """What the op's shape rule answers for these arguments; where it refuses symbols, what it answers for their values, which
    guards them: a rule may not know symbols, and the program may read the message of what it raises."""
    try:
        return symbolic_rule(op, metas, named)
    except DataDependentError:
        raise
    except SHAPE_ERRORS:
        return op.meta(*map(as_numbers, metas), **{k: as_numbers(v) for k, v in named.items()})


def symbolic_rule(op: Op, metas: list, named: dict) -> Any:
    """What the op's shape rule answers."""
    if op.kind == "inplace" and op.base is not None and op.base.kind == "core" and metas:
        made = op.base.meta(*metas, **named)
        if type(made) is Meta and made.dtype is metas[0].dtype and fits(made, metas[0]):
            return metas[0]  # the usual case; what in-place forms refuse is left to the op itself
    return meta_call(op, metas, named)


def as_numbers(value: Any) -> Any:
    """An argument of a shape rule with every size a number."""
    if type(value) is Meta:
        sizes, strides = tuple(map(int, value.sizes)), tuple(map(int, value.strides))
        return Meta(value.dtype, value.device, sizes, strides, int(value.offset), value.requires_grad)
    if type(value) in SYMBOLIC:
        return PLAIN[type(value)](value)
    return type(value)(map(as_numbers, value)) if type(value) in (tuple, list) else value


def fits(result: Meta, target: Meta) -> bool:
    """Whether a result has the target's sizes for certain."""
    return len(result.sizes) == len(target.sizes) and all(map(known_equal, result.sizes, target.sizes))


def fits_now(result: Meta, target: Meta) -> bool:
    """The same for the sizes of this call, which are guarded."""
    if len(result.sizes) != len(target.sizes):
        return False
    pairs = zip(result.sizes, target.sizes)
    return all(known_equal(a, b) or (None not in (hint_of(a), hint_of(b)) and bool(a == b)) for a, b in pairs)


def hint_of(size: Any) -> int | None:
    """A size in this call; None where data decides it."""
    return size.hint if type(size) in SYMBOLIC else size


def arguments(output, op: Op, args, kwargs) -> tuple[tuple, dict]:
    """The arguments of the node."""
    try:
        given = tuple([a.as_arg() for a in args])
        named = {k: v.as_arg() for k, v in kwargs.items()} if kwargs else {}
    except NotConstant as e:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} of {e.args[0].describe()}") from None
    for v in (*given, *named.values()) if named else given:
        if type(v) is int and not -(2**63) <= v < 2**63:
            raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} of an int beyond 64 bits")
        if type(v) in SYMBOLIC:
            output.keep_exact(v)
    return given, named


def inplace_result(output, frame, op: Op, args, kwargs) -> Variable:
    """The tensor written is the result; what is known of it is brought up to date."""
    target = args[0] if args else next(iter(kwargs.values()))
    needs = any(t.meta.requires_grad for t in tensors_of([*args, *kwargs.values()]))
    if needs and output.grad_enabled:
        for tensor in {target, target.root}:
            tensor.meta = copy_meta(tensor.meta, True)
    target.known = target.root.known = None
    if target.root.source is not None:
        output.mutated.add(target.root)
    return NONE if op.name == "setitem" else target


def check_target(output, frame, op: Op, args, kwargs) -> None:
    """Refuse what eager refuses, before anything is recorded, and what is left to it."""
    target = args[0] if args else next(iter(kwargs.values()))
    if not isinstance(target, TensorVariable):
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} of {target.describe()}")
    if target.root.node.graph is not output.graph or (output.graph.outer is not None and target.root.node.op == "placeholder"):
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} writes into a tensor from outside of the function that is called")
    if target.root.is_of_subclass and target.root.source is not None and target.root.meta.requires_grad:
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} writes into a tensor of a subclass, of which the graph has an alias")
    born = numpys_own(target.node)
    if born is not None:
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} writes a view that only NumPy can make", born)
    in_order = "fill" in op.tags or (op.name == "setitem" and not any(tensors_of([args[1]])))
    if through_gaps(target.node) or shares_elements(target, in_order):
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} writes into an expanded tensor, overlapping windows or gaps")
    saved.check_write(output, op.name, target.node, output.grad_enabled and needs_gradients([*args[1:], *kwargs.values()]))
    born = read_as_data(target.node) if target.root.meta.requires_grad else None
    if born is not None:
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} writes what autograd is not to see", born)
    if target.root in output.copied_views:  # such as an item at the place that a tensor says
        born = output.copied_views[target.root]
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} writes a tensor of which the graph has a copy for a view", born)
    check_overlap(op, args, kwargs, target)
    check_leaf(output, frame, target)
    check_alone(output, frame, target)


def check_overlap(op: Op, args, kwargs, target: TensorVariable) -> None:
    """Leave it to eager, which refuses it, to read what an op writes otherwise than it writes it."""
    others = [t for t in tensors_of([*args[1:], *kwargs.values()]) if t.root is target.root]
    if not others:
        return
    written = target.as_meta()
    if op.name == "setitem" and not tensors_of(args[1:2]):
        written = registry["getitem"].meta(written, args[1].as_meta())
    if any(overlap(written, t.as_meta()) for t in others):
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} reads a part of what it writes")


OF_SEVERAL = ("split", "chunk", "unbind")  # (what tensor_split and its like give are slices)


def check_alone(output, frame, target: TensorVariable) -> None:
    """Eager refuses writes that are recorded into one of several views that an operation made, and into views of such."""
    if not output.grad_enabled or not (target.meta.requires_grad or target.root.meta.requires_grad):
        return
    if not target.meta.requires_grad and saved.is_detached(target.node):
        return
    node = target.node
    while node is not None and "one of several" not in node.meta:
        node = viewed_by(node)
    if node is None:
        return
    made = node.meta["one of several"] if node is target.node else getattr(target.node.target, "name", "view")
    nr, name = (node.args[1], "Split") if made in ("split", "chunk") else (0, "Select" if made == "unbind" else made.title())
    text = f"Output {nr} of {name}Backward0 is a view and is being modified inplace. This view is the output of a function that "
    text += "returns multiple views. Such functions do not allow the output views to be modified inplace. "
    raise raise_exception(frame, RuntimeError, text + "Use an operation that is not in place.")


def read_as_data(node: Any) -> int | None:
    """The step that read a tensor as the `data` of another (or what it is a view of): writing there counts as no change."""
    while node is not None and "data" not in node.meta:
        node = viewed_by(node)
    return None if node is None else node.meta["data"]


def numpys_own(node: Any) -> int | None:
    """The step that made a view which only NumPy can make, of which this node is a view, or may be one."""
    while node is not None and "numpy's own" not in node.meta:
        is_reshaped = node.op == "call_function" and getattr(node.target, "name", None) == "reshape"
        node = node.args[0] if is_reshaped else viewed_by(node)
    return None if node is None else node.meta["numpy's own"]


def shares_elements(target: TensorVariable, in_order: bool) -> bool:
    """Whether the tensor, or one that it is a view of, may show elements of memory more than once.

    Eager writes them one after the other, each sees what the ones before it wrote; of what a graph writes each sees the old ones.
    Parts of windows that a graph made by `unfold` it may write, where they do not overlap or `in_order` (no write reads another).
    """
    node: Any = target.node
    while node is not None:
        val = node.meta.get("val")
        whole = node.op == "placeholder" or getattr(node.target, "name", None) == "as_strided"
        whole = whole or (node is target.node and not in_order)
        if type(val) is Meta and (may_show_twice if whole else shows_twice)(val):
            return True
        node = viewed_by(node)
    return False


def is_leaf(output, frame, root: TensorVariable) -> bool:
    """Whether a tensor from outside is a leaf that gradients are recorded for."""
    recorded = root.value is not None and root.value.requires_grad and output.grad_enabled
    return recorded and frame.world.fact(root.value, root.source, "is_leaf")


def check_leaf(output, frame, target: TensorVariable) -> None:
    """Eager refuses in-place operations on leaves that require grad."""
    root = target.root
    if target.meta.requires_grad and is_leaf(output, frame, root):
        text = "a leaf Variable that requires grad is being used in an in-place operation."
        if target is not root:
            text = "a view of a leaf Variable that requires grad is being used in an in-place operation."
            node = target.node
            while node is not None and node is not root.node:
                node = viewed_by(node)
            if node is None:
                raise Unsupported(breaks.MUTATED_ALIAS, "what may be a view of a leaf or a copy")
        raise raise_exception(frame, RuntimeError, text)


def tensors_of(values: list[Variable]) -> list[TensorVariable]:
    """The tensors among the values, those in lists and tuples included."""
    found: list[TensorVariable] = []
    for v in values:
        if isinstance(v, TensorVariable):
            found.append(v)
        elif hasattr(v, "items") and isinstance(v.items, list):
            found += tensors_of(v.items)
    return found


def needs_gradients(values: Iterable[Variable]) -> bool:
    """Whether a tensor among the values requires grad, those in lists and tuples included."""
    for v in values:
        if isinstance(v, TensorVariable):
            if v.meta.requires_grad:
                return True
        elif type(v) is not ConstantVariable and hasattr(v, "items") and isinstance(v.items, list) and needs_gradients(v.items):
            return True
    return False


def set_requires_grad(output, op: Op, val: Any, values: list[Variable]) -> None:
    """Autograd's rule: a floating result of an input that requires grad, under grad mode."""
    needs = (
        output.grad_enabled
        and op.name not in CONSTANTS
        and op.kind not in ("factory", "random")
        and needs_gradients(tensors_of(values)[:1] if op.name in LIKE_ANOTHER else values)
    )
    for meta in val if isinstance(val, (tuple, list)) else (val,):
        if type(meta) is Meta:
            meta.requires_grad = needs and (meta.dtype.is_floating_point or meta.dtype.is_complex)


def note_unrecorded(output, viewed: Variable, result: Variable) -> None:
    """Views made while no gradients are recorded, of what requires grad: eager's are leaves that require grad. In the graph they
    are constants; what could tell the difference is left to eager from here on."""
    if any(t.requires_grad(output) for t in tensors_of([viewed])):
        output.unrecorded.update((part, output.root.group_step) for part in tensors_of([result]))


def refuse_unrecorded(output, op: Op, values: list[Variable]) -> None:
    """Breaks where gradients are recorded of a view that was made without (`note_unrecorded`). A graph that must be whole takes
    it as a constant."""
    if not output.grad_enabled or output.options.fullgraph or op.name in CONSTANTS:
        return
    for v in tensors_of(values):
        if v in output.unrecorded:
            raise Unsupported(breaks.NOT_REBUILT, "a view without history of a tensor that requires grad", output.unrecorded[v])


def refuse_of_inference(output, op: Op, args: list[Variable], kwargs: dict[str, Variable]) -> None:
    """Breaks where a tensor that was made under inference_mode is written outside of it, or may have to be saved for a gradient:
    eager refuses both."""
    tensors = tensors_of([*args, *kwargs.values()])
    if writes(op) and tensors and tensors[0].of_inference():
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} writes a tensor of inference_mode")
    if output.grad_enabled and not output.options.fullgraph and any(t.meta.requires_grad for t in tensors):
        if op.name not in CONSTANTS and any(t.of_inference() for t in tensors):
            raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} of a tensor of inference_mode and one that requires grad")


def copy_meta(meta: Meta, requires_grad: bool) -> Meta:
    return Meta(meta.dtype, meta.device, meta.sizes, meta.strides, meta.offset, requires_grad)


def view_root(op: Op, args, val: Any) -> TensorVariable | None:
    """Whose memory the result may share."""
    if op.name in COPIES and type(val) is Meta and args and getattr(args[0], "meta", val).dtype != val.dtype:
        return None
    if op.name == "getitem" and len(args) == 2 and gathers(args[1]):
        return None
    if (op.kind == "view" or op.name in VIEWS) and args and isinstance(args[0], TensorVariable):
        return args[0].root
    return None


def gathers(key: Variable) -> bool:
    """Whether elements taken by this key are a copy: one of its parts is a list, or a tensor other than one number."""
    if isinstance(key, TensorVariable):
        return bool(key.meta.sizes) or key.meta.dtype.name == "bool"
    of_type = key.python_type()
    return of_type is list or (of_type is tuple and any(map(gathers, getattr(key, "items", ()))))


def own_gradient(output, frame, target: Variable) -> None:
    """A gradient that a user's backward() is given, and writes before there are views of it, is copied: it is the caller's. So is
    an argument of a user's forward()."""
    made_by = target.node if isinstance(target, TensorVariable) and target is target.root else None
    if made_by is None or not {"gradient", "copied where written"} & made_by.meta.keys():
        return
    if any(viewed_by(user) is made_by for user in made_by.users):
        return
    copied = record(output, frame, registry["clone"], [target], {})
    assert isinstance(target, TensorVariable) and isinstance(copied, TensorVariable)
    target.node = copied.node
