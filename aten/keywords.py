"""Keywords by which PyTorch knows parameters of ops besides the names that declarations give them: NumPy's, and those of a
single op, as native_functions.yaml and python_arg_parser.cpp have them."""

from typing import Any

ANY_OP = {
    "split_size": "split_size_or_sections",
    "axis": "dim",
    "axes": "dims",
    "keepdims": "keepdim",
    "self": "input",
    "a": "input",
    "x": "input",
    "x1": "input",
    "x2": "other",
    "size": "size",
    "shape": "size",
    "dtype": "size",  # view(dtype=…)
}
_PARTS = {"sections": "indices_or_sections", "indices": "indices_or_sections"}
OF_OP: dict[str, dict[str, str]] = {
    "pow": {"exponent": "other"},
    "hsplit": _PARTS,
    "vsplit": _PARTS,
    "dsplit": _PARTS,
    "tensor_split": {**_PARTS, "tensor_indices_or_sections": "indices_or_sections"},
    "isin": {"element": "elements", "test_element": "test_elements"},
    "transpose": {"axis0": "dim0", "axis1": "dim1"},
    "cholesky_solve": {"input2": "L"},
    "orgqr": {"input2": "tau"},
    "ormqr": {"input2": "tau", "input3": "other"},
    "hspmm": {"mat1": "input"},
    "linalg_householder_product": {"input": "A"},
    "linalg_matrix_rank": {"input": "A"},
    "linalg_tensorsolve": {"other": "B"},
    "result_type": {"tensor": "tensor1", "other": "tensor2", "scalar1": "tensor1", "scalar2": "tensor2"},
}

FROM_ZERO = {"arange": ("start", "end"), "randint": ("low", "high")}  # whose first parameter may be left out: arange(end=3)


def from_zero(op: str, args: Any, kwargs: dict[str, Any] | None) -> Any:
    """The positional arguments, with the 0 where such an op begins if only its end is given, by keyword."""
    if args or not kwargs or op not in FROM_ZERO:
        return args
    first, second = FROM_ZERO[op]
    return (0,) if second in kwargs and first not in kwargs else args


def parameter(op: str, keyword: str) -> str:
    """The parameter that another keyword stands for, if the op has it; "" for one that is nobody's."""
    return OF_OP.get(op.removesuffix("_"), {}).get(keyword) or ANY_OP.get(keyword, "")


def others(op: str, names: Any) -> dict[str, str]:
    """Every keyword that stands for a parameter of the op, whose parameters have these names: {keyword: parameter}."""
    known = {**ANY_OP, **OF_OP.get(op.removesuffix("_"), {})}
    return {other: name for other, name in known.items() if name in names and other not in names}
