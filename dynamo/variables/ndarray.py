"""NumPy arrays while tracing: each is a tensor of the graph, over the array's memory, with NumPy's rules of dtypes.

Result dtypes are asked of NumPy at capture and become explicit casts, so that below capture there is one semantics.
"""

from __future__ import annotations

import _operator as operator
from collections.abc import Callable
from typing import Any

import numpy as np

import aten
from aten import _native
from aten.dtype import dtype_from_numpy
from aten.op import registry
from aten.symbolic.symint import SymBool, SymFloat, SymInt
from dynamo import breaks, guards, outcome, trace_rules
from dynamo.breaks import NotConstant, Raised, Unsupported
from dynamo.operators import BINARY, ROWS, UNARY
from dynamo.recording import numpys_own
from dynamo.source import Converted, Object
from dynamo.variables.base import Variable, attribute
from dynamo.variables.constant import ConstantVariable, literal, plain
from dynamo.variables.exception import run_python
from dynamo.variables.ndarray_layout import lay_out_taken
from dynamo.variables.sequence import ListVariable, SliceVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable, symbolic
from dynamo.variables.tensor import TensorVariable
from dynamo.views import viewed_by

SUPPORTED = frozenset("?bBhHiIlLqQefd")  # dtype.char of what tensors hold


def view_of(array: np.ndarray, sizes: tuple, strides: tuple, offset: int) -> np.ndarray:
    """The view of `array` with these sizes, strides and offset (in items), as indexing makes it."""
    view = _view_of(array, sizes, strides, offset)
    if not array.flags.writeable:
        view.flags.writeable = False
    return view


def _view_of(array: np.ndarray, sizes: tuple, strides: tuple, offset: int) -> np.ndarray:
    owner = array
    while type(owner.base) is np.ndarray:
        owner = owner.base
    n = array.itemsize
    if 0 in sizes:  # wherever it begins, maybe behind the end
        return np.ndarray(sizes, array.dtype, owner, 0, [s * n for s in strides])
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0] + offset * n
    if not owner.flags.c_contiguous or owner.dtype != array.dtype:
        flat = np.lib.stride_tricks.as_strided(array, (offset + 1,), (n,))[offset:] if offset else array
        return np.lib.stride_tricks.as_strided(flat, sizes, [s * n for s in strides])
    return np.ndarray(sizes, array.dtype, owner, start, [s * n for s in strides])


def view_beside(array: np.ndarray, tensor: Any) -> np.ndarray:
    """The view of `array` that `tensor` is of its memory."""
    start = array.__array_interface__["data"][0]
    return view_of(array, tuple(tensor.shape), tuple(tensor.stride()), (tensor.data_ptr() - start) // array.itemsize)


def scalar_of(tensor: Any) -> np.generic:
    """The NumPy scalar that a 0-d result is."""
    return tensor.numpy(force=True)[()]


def array_of(tensor: Any) -> np.ndarray:
    """The array over the memory of `tensor`."""
    return tensor.numpy(force=True)


ABOUT_MEMORY = ("flags", "base")  # attributes of an array that tell whether its memory is its own
# Those that tell how it lies there: dims of one item or none, too, which lie in NumPy otherwise than in tensors.
ABOUT_LAYOUT = ("strides", "ctypes", "data", "__array_interface__", "__array_struct__")
OPERATORS = frozenset(n for row in BINARY for n in (row.dunder, row.reflected, row.inplace_dunder))


class ArrayVariable(Variable):
    """An ndarray, or with `scalar` a NumPy scalar (what reductions and indexing give).

    `again`: a function, an array and what else it takes, by which NumPy makes the array where no tensor can be it."""

    __slots__ = ("tensor", "scalar", "again")
    is_array_like = True

    def __init__(self, tensor: TensorVariable, scalar: bool = False, source=None, again: tuple | None = None):
        super().__init__(source)
        self.tensor = tensor
        self.scalar = scalar
        self.again = again

    def __repr__(self):
        return f"ArrayVariable({self.tensor})"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.tensor.meta.dtype.to_numpy())

    @property
    def ndim(self) -> int:
        return len(self.tensor.meta.sizes)

    def python_type(self):
        return self.dtype.type if self.scalar else np.ndarray

    def describe(self):
        return f"an array of sizes [{', '.join(map(str, self.tensor.meta.sizes))}]"

    def is_constant(self):
        return False

    def is_same(self, other):
        return self is other

    # -------------------------------------------------------------------------------------- operations
    def class_attribute(self, frame, name):
        if name in self.rules and frame.world.on_class(self.python_type(), name) is not frame.world.MISSING:
            return frame.values.bound(self, name)
        if frame.world.on_class(self.python_type(), name) is frame.world.MISSING:
            return super().class_attribute(frame, name)
        if name == "resize":
            raise Unsupported(breaks.LIFETIME, "ndarray.resize counts the references to the array")
        if name in ABOUT_MEMORY:
            raise Unsupported(breaks.ARRAY_MEMORY, f"ndarray.{name}", self.born())
        if name in ABOUT_LAYOUT:
            raise Unsupported(breaks.ARRAY_MEMORY, f"ndarray.{name}", self.first_seen())
        raise Unsupported(breaks.ARRAY_FUNCTION, f"ndarray.{name}")

    def born(self) -> int | None:
        """The step that made the array, from where NumPy is to go on if it is asked whose the memory is."""
        return None if self.scalar or self.source is not None else self.tensor.root.node.meta.get("step")

    def first_seen(self) -> int | None:
        """The step that made the array, or the first of the views through which it is seen."""
        node, found = self.tensor.node, None if self.again is None else self.again[1].first_seen()
        if found is not None:
            return found
        while node is not None:
            found, node = node.meta.get("step", found), viewed_by(node)
        return None if self.scalar or self.source is not None else found

    def method(self, frame, name, args, kwargs):
        if name not in self.rules:
            raise Unsupported(breaks.ARRAY_FUNCTION, f"ndarray.{name}()")
        if self.scalar and name in OPERATORS and not all(a.python_type() is self.python_type() for a in args):
            raise Unsupported(breaks.ARRAY_FUNCTION, f"{name}() of a NumPy scalar, which answers for some numbers only")
        return super().method(frame, name, args, kwargs)

    def setattr(self, frame, name, value):
        raise Unsupported(breaks.ARRAY_FUNCTION, f"setting ndarray.{name}")

    def example(self):
        return self.dtype.type(0) if self.scalar else np.zeros((0,) * max(self.ndim, 0), self.dtype)

    @attribute("shape")
    def shape(self, frame):
        return TupleVariable([symbolic(frame, s) for s in self.tensor.meta.sizes])

    @attribute("ndim")
    def dimensions(self, frame):
        return ConstantVariable(self.ndim)

    @attribute("dtype")
    def get_dtype(self, frame):
        return literal(frame, self.dtype)

    @attribute("size")
    def size(self, frame):
        return symbolic(frame, self.tensor.meta.numel())

    @attribute("itemsize")
    def itemsize(self, frame):
        return ConstantVariable(self.dtype.itemsize)

    @attribute("T")
    def transposed(self, frame):
        dims = TupleVariable([ConstantVariable(d) for d in reversed(range(self.ndim))])
        return wrap_array(self.tensor.op(frame, "permute", self.tensor, dims), self.scalar)

    @attribute("real")
    def real(self, frame):
        return self

    @attribute("__array_priority__")
    def priority(self, frame):
        return ConstantVariable(-1000000.0 if self.scalar else 0.0)

    def truth(self, frame):
        raise Unsupported(breaks.BRANCH_ON_TENSOR)

    def contains(self, frame, item):
        raise Unsupported(breaks.BRANCH_ON_TENSOR, "`in` an array")

    def length(self, frame):
        if not self.ndim:
            raise frame.ops.refused(frame, len, self) if self.scalar else self.unsupported("len()")
        return self.tensor.length(frame)

    def iterate(self, frame):
        return frame.values.ItemsIterator(self.unpack(frame), self)

    def unpack(self, frame):
        if not self.ndim:
            raise frame.ops.refused(frame, iter, self) if self.scalar else self.unsupported("iteration")
        if self.ndim == 1 and (known := known_values(self)) is not None:
            return [ConstantVariable(item) for item in known]
        make = copied_scalar if self.ndim == 1 else lambda _, item: wrap_array(item)
        return [make(frame, t) for t in self.tensor.unpack(frame)]

    def getitem(self, frame, key):
        if self.scalar:
            raise self.unsupported("an index")
        if (known := known_values(self)) is not None and isinstance(key, ConstantVariable) and is_integer(key) and self.ndim == 1:
            return ConstantVariable(run_python(frame, known.__getitem__, key.value))
        parts = key.unpack(frame) if isinstance(key, TupleVariable) else [key]
        scalar = self.names_one(parts)
        try:
            index = as_index(frame, key)
            if any(map(goes_back, parts)):
                return self.taken_back(frame, self, key, parts)
            item = self.tensor.getitem(frame, index)
            if scalar:
                return copied_scalar(frame, item)
            taken = wrap_array(item)
            lay_out_taken(frame, self, parts, taken)
            return copy_of(frame, taken) if any(is_number(p) and not p.scalar for p in parts) else taken
        except Raised:  # (NumPy has words of its own)
            raise Unsupported(breaks.ARRAY_FUNCTION, "array[…] with these indices") from None

    def names_one(self, parts: list[Variable]) -> bool:
        """Whether an index names one element, a number."""
        whole = sum(isinstance(p, (ConstantVariable, SymbolicVariable)) and is_integer(p) or is_number(p) for p in parts)
        return whole == self.ndim == len(parts)

    def setitem(self, frame, key, value):
        if self.scalar:
            raise self.unsupported("item assignment")
        check_writable(frame, self)
        several = isinstance(value, (ListVariable, TupleVariable)) or isinstance(value, ArrayVariable) and value.ndim
        if several and self.names_one(key.unpack(frame) if isinstance(key, TupleVariable) else [key]):
            raise Unsupported(breaks.ARRAY_FUNCTION, "array[one element] = several")
        if isinstance(value, (ListVariable, TupleVariable)):
            value = literal(frame, np.asarray).call(frame, [items_stored(frame, value, self.dtype)], {})
        if isinstance(value, ArrayVariable):
            check_held(frame, value, self.dtype)
            value = own(frame, cast(frame, value, self.dtype), self).tensor
        else:
            value = as_stored(frame, value, self.dtype)
        try:
            self.tensor.setitem(frame, as_index(frame, key), value)
        except Raised as raised:
            raise left_to_numpy(raised, "array[…] = value") from None

    def binary(self, frame, op, other):
        if self.leaves(op, other):
            return None
        ufunc = self.ufunc(ROWS[op].ufunc)
        if not self.knows(frame, other):
            return None
        result = self.call_ufunc(frame, ufunc, [self, other])
        return result if op is ROWS[op].function else write_into(frame, self, result)

    def reflected(self, frame, op, other):
        if self.leaves(op, other) or not self.knows(frame, other):
            return None
        return self.call_ufunc(frame, self.ufunc(ROWS[op].ufunc), [other, self])

    def unary(self, frame, op):
        return self.call_ufunc(frame, self.ufunc(UNARY[op].ufunc), [self])

    @staticmethod
    def ufunc(name: str) -> np.ufunc:
        return getattr(np, name)

    def call_ufunc(self, frame, ufunc: np.ufunc, operands: list[Variable]) -> Variable:
        rule = trace_rules.handler(ufunc)
        if rule is None:
            raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{ufunc.__name__}")
        return rule(frame, operands, {})

    def leaves(self, op, other: Variable) -> bool:
        """Whether a scalar leaves it to a sequence to be repeated: no product is taken."""
        return self.scalar and ROWS[op].function is operator.mul and isinstance(other, (ListVariable, TupleVariable))

    def knows(self, frame, other: Variable) -> bool:
        """Whether `other` is an operand that is traced. NumPy makes an array of almost everything else."""
        if isinstance(other, (ArrayVariable, SymbolicVariable, ListVariable, TupleVariable)):
            return True
        if isinstance(other, ConstantVariable) and isinstance(other.value, (bool, int, float, np.generic)):
            if not isinstance(other.value, np.character):
                return True
        raise Unsupported(breaks.ARRAY_FUNCTION, f"an operator on an array and {other.describe()}")

    def hash_key(self):
        raise self.unsupported("hash()")

    def view_outside(self, emit) -> Any:
        """The recipe of a view of an array from outside, whose `base` is that of the array; None if it is none for
        certain."""
        root, meta = self.tensor.root, self.tensor.meta
        array = root.source.base if isinstance(root.source, Converted) else None
        if self.scalar or array is None or type(root.value) is not aten.Tensor:
            return None
        node = self.tensor.node
        while node is not None and node is not root.node:
            node = viewed_by(node)
        if node is None or isinstance(array.root, Object):
            return None
        if all(type(n) is int for n in (*meta.sizes, *meta.strides, meta.offset)):
            layout = map(outcome.Const, (meta.sizes, meta.strides, meta.offset))
            return outcome.Call(outcome.Const(view_of), (emit.load(array), *layout))
        return outcome.Call(outcome.Const(view_beside), (emit.load(array), emit.value(self.tensor)))

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        if self.again is not None:
            function, base, rest = self.again
            values = (base, *rest)
            return emit.shared(self, lambda: outcome.Call(outcome.Const(function), tuple(emit.value(v) for v in values)))
        born = None if self.scalar else numpys_own(self.tensor.node)
        if born is not None:
            raise Unsupported(breaks.ARRAY_FUNCTION, "a view of a view that only NumPy can make", born)
        view = self.view_outside(emit)
        if view is not None:
            return emit.shared(self, lambda: view)
        make = scalar_of if self.scalar else array_of
        return emit.shared(self, lambda: outcome.Call(outcome.Const(make), (emit.value(self.tensor),)))


def is_writable(array: np.ndarray) -> bool:
    return array.flags.writeable


def check_writable(frame, target: ArrayVariable) -> None:
    """A write into a read-only array from outside is left to NumPy, which refuses it. Guarded where there is a write."""
    root = target.tensor.root
    if not isinstance(root.source, Converted) or root.source.key is not _native.from_numpy or type(root.value) is not aten.Tensor:
        return
    if not root.value.numpy(force=True).flags.writeable:
        raise Unsupported(breaks.ARRAY_FUNCTION, "a write into a read-only array")
    frame.output.guard(guards.Equals(Converted(root.source.base, is_writable), True))


def write_into(frame, target: ArrayVariable, result: ArrayVariable) -> ArrayVariable:
    """target[...] = result, as in-place operators do; of a cast that could lose values NumPy tells itself."""
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise Unsupported(breaks.ARRAY_FUNCTION, f"a cast from {result.dtype} to {target.dtype} in place")
    if target.scalar:
        return result
    check_writable(frame, target)
    value = own(frame, cast(frame, result, target.dtype), target)
    frame.output.record(frame, registry["copy_"], [target.tensor, value.tensor], {})
    return target


def own(frame, value: ArrayVariable, target: ArrayVariable) -> ArrayVariable:
    """A value to be written, a copy where it shares memory with the target: NumPy reads all before it writes."""
    return copy_of(frame, value) if value.tensor.root is target.tensor.root else value


def as_stored(frame, value: Variable, dtype: np.dtype) -> Variable:
    """A number as elements of `dtype` hold it. Of a symbol is guarded that an integer dtype can hold it, else its value is read."""
    if isinstance(value, SymbolicVariable):
        if is_held(value.value, dtype):
            cut = dtype.kind in "iu" and isinstance(value.value, SymFloat)
            return symbolic(frame, value.value.__trunc__()) if cut else value
        value = ConstantVariable(value.as_python())
    if isinstance(value, ConstantVariable) and isinstance(value.value, (int, float, complex, np.generic)):
        return ConstantVariable(run_python(frame, stored, value.value, dtype))
    return value


def items_stored(frame, value: Variable, dtype: np.dtype) -> Variable:
    """A list of numbers, of lists of them, of arrays: its numbers as elements of `dtype` hold them."""
    if isinstance(value, (ListVariable, TupleVariable)):
        return ListVariable([items_stored(frame, v, dtype) for v in value.items])
    if isinstance(value, ArrayVariable):
        check_held(frame, value, dtype)
        return value
    return as_stored(frame, value, dtype)


def check_held(frame, value: ArrayVariable, dtype: np.dtype) -> None:
    """NumPy refuses a number, as arrays give them (no array of one), that an integer dtype cannot hold; the graph has no values."""
    if value.scalar and dtype.kind in "iu" and not np.can_cast(value.dtype, dtype):
        if (known := known_values(value)) is None:
            raise Unsupported(breaks.ARRAY_FUNCTION, f"a number of {value.dtype} that is stored in an array of {dtype} if it fits")
        run_python(frame, stored, known[()], dtype)


def is_held(number: Any, dtype: np.dtype) -> bool:
    """Whether an integer dtype can hold a symbolic number, once its fraction is cut off; guarded."""
    if dtype.kind not in "iu" or isinstance(number, SymBool):
        return True
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if isinstance(number, SymInt):
        return bool(number >= low) and (high >= 2**62 or bool(number <= high))
    return bool(number > float(low) - 1) and bool(number < float(high) + (high < 2**62))


def stored(value: Any, dtype: np.dtype) -> Any:
    """The number that an array of `dtype` holds after `array[...] = value`, with NumPy's errors."""
    array = np.zeros((), dtype)
    array[...] = value
    return array.item()


def known_values(x: ArrayVariable) -> np.ndarray | None:
    """The values of an array that were given by constants, and were not written since."""
    known = x.tensor.known
    return None if known is None or (x.tensor.root is not x.tensor and x.tensor.root.known is None) else known.numpy()


def wrap_array(tensor: Variable, scalar: bool = False) -> ArrayVariable:
    assert isinstance(tensor, TensorVariable)
    return ArrayVariable(tensor, scalar)


def copied_scalar(frame, item: TensorVariable) -> ArrayVariable:
    """A scalar with the value that the item has now."""
    return ArrayVariable(frame.output.record(frame, registry["clone"], [item], {}), scalar=True)


def copy_of(frame, x: ArrayVariable) -> ArrayVariable:
    made = ArrayVariable(frame.output.record(frame, registry["row_major"], [x.tensor], {}), x.scalar)
    if known_values(x) is not None:
        made.tensor.known = x.tensor.known
    return made


def cast(frame, value: ArrayVariable, dtype: np.dtype) -> ArrayVariable:
    """value.astype(dtype), nothing if it has it."""
    if value.dtype == dtype:
        return value
    to = literal(frame, dtype_from_numpy(dtype))
    return ArrayVariable(frame.output.record(frame, registry["cast"], [value.tensor, to], {}), value.scalar)


def dtype_asked(frame, asked: Variable) -> np.dtype:
    """The dtype that an argument names. One that no tensor has, or of the other byte order, is left to NumPy."""
    dtype = run_python(frame, np.dtype, asked.as_python())
    if dtype.char not in SUPPORTED or not dtype.isnative:
        raise Unsupported(breaks.ARRAY_FUNCTION, f"the dtype {dtype.str}")
    return dtype


def is_integer(value: Variable) -> bool:
    return issubclass(value.python_type(), (int, np.integer)) and not issubclass(value.python_type(), (bool, np.bool_))


def is_number(value: Any) -> bool:
    """Whether an index is an integer of the graph: a scalar, or an array of one, which NumPy indexes by as by any array."""
    return isinstance(value, ArrayVariable) and value.ndim == 0 and value.dtype.kind in "iu"


def is_flat(places: ListVariable) -> bool:
    """Whether a list has integers alone. Others are arrays to NumPy; a tensor takes some of them for tuples."""
    return all(is_integer(p) or is_number(p) for p in places.items)


def is_mask(places: ListVariable) -> bool:
    return all(p.python_type() is bool for p in places.items)


def goes_back(part: Variable) -> bool:
    """Whether a part of an index is a slice with a negative step, which tensors do not take."""
    step = part.parts[2] if isinstance(part, SliceVariable) else None
    return isinstance(step, ConstantVariable) and isinstance(step.value, (int, np.integer)) and step.value < 0


def as_index(frame, key: Variable) -> Variable:
    """An index with arrays and NumPy integers as the tensor's index takes them."""
    if isinstance(key, TupleVariable):
        return TupleVariable([as_index(frame, k) for k in key.unpack(frame)])
    if isinstance(key, ListVariable) and key.items and not (is_flat(key) or is_mask(key)):
        key = literal(frame, np.asarray).call(frame, [key], {})
        assert isinstance(key, ArrayVariable)
        if key.dtype.kind not in "iub":
            raise Unsupported(breaks.ARRAY_FUNCTION, f"array[…] with a list of {key.dtype}")
    if isinstance(key, ArrayVariable):
        return key.tensor
    if isinstance(key, ConstantVariable) and isinstance(key.value, np.integer):
        return ConstantVariable(int(key.value))
    if isinstance(key, SliceVariable):
        if any(isinstance(p, TensorVariable) or isinstance(p, ArrayVariable) and not is_number(p) for p in key.parts):
            raise Unsupported(breaks.ARRAY_FUNCTION, "array[…] with a slice between arrays")
        return SliceVariable([as_index(frame, p) for p in key.parts])
    if isinstance(key, TensorVariable) and bool(key.meta.numel() == 1):
        raise Unsupported(breaks.ARRAY_FUNCTION, "array[…] with a tensor of one element, which is a number to NumPy")
    return key


def error_state(_: Any) -> tuple | None:
    """What NumPy does about floating point errors in this thread: None for its default, warnings."""
    state = np.geterr()
    return None if state == DEFAULT_ERRORS else tuple(state.items())


DEFAULT_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def check_errors(frame) -> None:
    """Compiled code raises and reports no floating point errors: where np.errstate asks for it, NumPy itself computes."""
    state = error_state(None)
    frame.output.guard(guards.Equals(Converted(Object(np, "np"), error_state), state))
    if state is not None and any(how not in ("ignore", "warn") for _, how in state):
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.errstate(…)")


def of_scalars(rule: Callable) -> Callable:
    """Declare that a rule gives NumPy's result for scalars and arrays without dimensions, too."""
    OF_SCALARS.add(rule)
    return rule


OF_SCALARS: set[Callable] = set()


def whole(value: Variable) -> int:
    """An axis, or a number of places; TypeError for what is none to NumPy (floats and truth values)."""
    number = plain(value)
    if isinstance(number, (bool, np.bool_)):
        raise TypeError("an integer is required")
    return operator.index(number)


def call_row(frame, rule, name: str, args: list, kwargs: dict) -> Variable:
    """rule(frame, *args, **kwargs); arguments that it does not know break the graph.

    NumPy has no axis 0 where there are no dimensions, and gives scalars in many a place where tensors are 0-d."""
    check_errors(frame)
    if args and rule not in OF_SCALARS and _is_scalar(args[0]):
        raise Unsupported(breaks.ARRAY_FUNCTION, f"{name} of a scalar")
    try:
        return rule(frame, *args, **kwargs)
    except (TypeError, ValueError, IndexError, OverflowError) as e:  # no number, no axis: NumPy says what it makes of them
        raise Unsupported(breaks.ARRAY_FUNCTION, f"{name} with these arguments") from e
    except NotConstant as e:
        raise Unsupported(breaks.ARRAY_FUNCTION, f"{name} of {e.args[0].describe()}") from None
    except Raised as raised:
        raise left_to_numpy(raised, name) from None


def _is_scalar(value: Variable) -> bool:
    if isinstance(value, ArrayVariable):
        return not value.ndim
    return isinstance(value, SymbolicVariable) or (value.is_constant() and not isinstance(value, (ListVariable, TupleVariable)))


def left_to_numpy(raised: Raised, name: str) -> Exception:
    """What the shape rule of an op refuses is refused by NumPy in words of its own."""
    return Unsupported(breaks.ARRAY_FUNCTION, f"{name} with these sizes or indices") if raised.of_rule else raised
