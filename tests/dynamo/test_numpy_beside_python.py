"""Arrays and scalars of NumPy beside Python's sequences, numbers and texts, and beside tensors: who answers, and with what."""

from __future__ import annotations

import _operator as operator
import collections
import itertools
import warnings

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.usefixtures("fresh")


def shown(value) -> str:
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(shown, value))})"
    if isinstance(value, np.ndarray):
        return f"array({value.dtype}, {value.shape}, {value.tolist()})"
    if isinstance(value, weft.Tensor):
        return f"tensor({value.dtype}, {value.tolist()})"
    return f"{type(value).__name__}: {value!r}"


def outcome(f, *args) -> str:
    try:
        return shown(f(*args))
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def agrees(text: str, names: str, make) -> None:
    """Whether what a text of Python says gives the same compiled, in two calls; so do its arguments."""
    *lines, last = text.split("; ")
    body = "".join(f"    {line}\n" for line in [*lines, f"return {last}"])
    names_of_all = {"np": np, "weft": weft, "operator": operator, "itertools": itertools, "deque": collections.deque}
    exec(f"def f({names}):\n{body}", names_of_all)
    f = names_of_all["f"]
    plain, other, compiled = make(), make(), weft.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            assert outcome(compiled, *other) == outcome(f, *plain)
            assert shown(other) == shown(plain)


def row():
    return (np.array([1.0, 2.0]),)


def number():
    return (1,)


JOINED = """a = [1, 2]; a += n; a | a = [1, 2]; b = a; a += n; (a, b) | a = []; a += n; a | a = [1, 2, 3]; a += n; a
a = [[1, 2]]; a += n; a | a = ['x']; a += n; a | a = [1, 2]; a = operator.iadd(a, n); a | a = [1, 2]; a.__iadd__(n); a
a = [1]; a += n[0]; a | a = [1]; a += n.sum(); a | a = [1]; a += np.int8(100); a | a = [1]; a += np.bool_(True); a
a = [1, 2]; a += np.array([3, 4]); a | d = {'k': [1, 2]}; d['k'] += n; d['k'] | d = deque([1, 2]); d += n; d
a = (1, 2); a += n; a | [1, 2] + n | a = [1]; a += np.datetime64('2020'); a | a = [1]; a += np.str_('ab'); a"""


@pytest.mark.parametrize("text", [t.strip() for t in JOINED.replace("\n", "|").split("|")])
def test_an_array_adds_itself_to_a_list(text):
    agrees(text, "n", row)


@pytest.mark.parametrize("value", [np.array([1.0, 2.0]), np.float64(3), np.int64(3), np.array(3.0), np.float32(1)])
def test_an_argument_adds_itself_to_a_list_of_the_caller(value):
    agrees("a += n; a", "a, n", lambda: ([1, 2], value))


class Listed(list):
    pass


def test_an_array_beside_a_list_of_a_subclass():
    agrees("a + n", "a, n", lambda: (Listed([1, 2]), np.ones(2)))
    agrees("a += n; a", "a, n", lambda: (Listed([1, 2]), np.ones(2)))


ONE_ITEM = ["np.array([1])", "np.array([k])", "np.arange(k)", "np.array([[1]])", "np.array(1)", "np.array(True)", "np.array([2.])"]
AS_NUMBER = """[1, 2][v] | (1, 2)[v] | 'ab'[v] | [1, 2, 3][v:] | [1, 2].__getitem__(v) | [1, 2].pop(v) | list(range(v)) | chr(v)
hex(v) | operator.index(v) | v.__index__() | slice(v).indices(5) | list(itertools.islice([1, 2, 3], v))
list(itertools.repeat(7, v)) | deque([1, 2])[v] | list(enumerate('a', v)) | int(v) | float(v) | v.__int__() | v.__float__()
complex(v) | np.arange(4)[v:] | l = [1, 2, 3]; l[v] = 9; l | l = [1, 2]; l.insert(v, 9); l | v.item()
n = np.zeros(3); n[v:] = 2; n | list(itertools.product([1, 2], repeat=v))"""


@pytest.mark.parametrize("v", ONE_ITEM)
@pytest.mark.parametrize("text", [t.strip() for t in AS_NUMBER.replace("\n", "|").split("|")])
def test_an_array_of_one_item_is_a_number_where_numpy_says_so(text, v):
    agrees(f"v = {v}; {text}", "k", number)


REPEATED = """[1] * np.array(2) | [5, 6] * np.array([k]) | (1,) * np.array(1) | operator.imul([1], np.array(2)) | 'a' * np.array(2)
b'a' * np.array([1]) | np.str_('a') * np.array([k]) | [1].__mul__(np.array(2)) | np.array(2) * [1] | 'a' + np.array(2)
l = [1]; m = l; l *= np.array(2); (l, m) | l = [1]; m = l; l *= np.int8(2); (l, m) | t = (1,); t *= np.array(2); t"""


@pytest.mark.parametrize("text", [t.strip() for t in REPEATED.replace("\n", "|").split("|")])
def test_an_array_multiplies_a_sequence(text):
    agrees(text, "k", number)


TIMES = """n.sum() * [1] | [1] * n[0] | n[0] * [1] | (1,) * np.ones(1).sum() | n.sum() * (1,) | n.sum() * 'a' | [1] * n.argmax()
v = n.astype('i8')[0]; v * [1] | v = n.astype('i8')[1]; v * (1, 2) | n.sum() * [] | (n > 0).any() * [1] | n.sum() + [1]
v = n[0]; v *= [1]; v | v = n.argmax(); v *= [1, 2]; v | l = [1]; m = l; l *= n.argmax(); (l, m) | n.argmax() * b'a'"""


@pytest.mark.parametrize("text", [t.strip() for t in TIMES.replace("\n", "|").split("|")])
def test_a_scalar_leaves_sequences_to_be_repeated(text):
    agrees(text, "n", row)


@pytest.mark.parametrize("number", ["1.0", "1j", "2", "f", "n[0]", "x.numpy()[0]", "n.argmax()", "np.float32(1)"])
@pytest.mark.parametrize("name", ["add", "rsub", "lt", "rmul", "eq", "pow"])
@pytest.mark.parametrize("other", ["n[0]", "x.numpy()[0]", "np.ones(1).sum()", "n.argmax()", "1.0", "np.float64(1)"])
def test_special_methods_of_numbers_know_some_scalars(number, name, other):
    agrees(f"({number}).__{name}__({other})", "n, x, f", lambda: (np.array([1.0, 2.0]), weft.ones(2), 1.5))


INDICES = "n[t] n[u] n[x.argmax()] n[w] n[t,] n[t:] n[:t] n[[t]] m[t] m[t,0] m[u,u] m[:,t] m[...,u] n[b] n[weft.tensor([[0]])]"


@pytest.mark.parametrize("text", INDICES.split())
def test_a_tensor_of_one_element_indexes_an_array_as_a_number(text):
    def make():
        tensors = weft.tensor(1), weft.tensor([1]), weft.tensor([1, 2]), weft.tensor(True), weft.arange(4.0)
        return np.arange(4), np.arange(12.0).reshape(4, 3), *tensors

    agrees(text, "n, m, t, u, w, b, x", make)
    agrees(f"{text} = 7; (n, m)", "n, m, t, u, w, b, x", make)


VALUES = ["n", "n.sum()", "n.argmax()", "np.array(2)", "n.astype('i4')", "np.round(2.5)", "n[n > 0][0]", "n[0]", "np.int64(300)"]
ASKED = """np.min_scalar_type(v) | np.result_type(v, np.float32(1)) | np.result_type(v, 1) | np.can_cast(v, 'f4') | np.iinfo(v).max
np.promote_types(v, 'f4') | np.issubdtype(v, np.floating) | np.finfo(v).eps | np.isscalar(v) | np.iscomplexobj(v)
np.common_type(v) | np.shape(v) | np.ndim(v) | np.size(v) | np.issubdtype(v.dtype, np.floating)"""


@pytest.mark.parametrize("v", VALUES)
@pytest.mark.parametrize("text", [t.strip() for t in ASKED.replace("\n", "|").split("|")])
def test_what_is_asked_of_dtypes_and_values(text, v):
    agrees(f"v = {v}; {text}", "n", row)


@pytest.mark.parametrize("v", ["np.str_('a')", "np.bytes_(b'a')", "np.datetime64('2020')", "'a'"])
@pytest.mark.parametrize("text", ["{} != x", "{} == x", "x == {}", "{} + x", "x * {}", "x.sum().__add__({})", "{} in [x]"])
def test_what_is_no_number_beside_a_tensor(text, v):
    agrees(text.format(v), "x", lambda: (weft.ones(2),))


VIEWS = """n[None, :1] n[None] n[:,None] n[None].T (n*2)[None] (n.T[:1]*2) n[:0]*2 np.atleast_3d(n) np.zeros((0,3)) n[0,None]
np.array(2)[None] np.swapaxes(n[None],0,1) np.flip(n[None],0) n.sum(1)[:,None] n[:1].T n.reshape(1,6) n"""


@pytest.mark.parametrize("text", VIEWS.replace("None, ", "None,").split())
def test_strides_are_those_of_numpy(text):
    agrees(f"v = {text}; v.strides", "n", lambda: (np.arange(6.0).reshape(2, 3),))
