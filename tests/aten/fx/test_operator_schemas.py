"""fx.operator_schemas: signatures of operations, and calls with their arguments in order."""

from weft.fx.operator_schemas import get_signature_for_torch_op, normalize_function, normalize_module

import weft

x = weft.ones(2)


def test_signatures():
    (signature,) = get_signature_for_torch_op(weft.add)
    assert list(signature.parameters) == ["input", "other", "alpha"] and signature.parameters["alpha"].default == 1
    assert get_signature_for_torch_op(len) is None


def test_calls_of_operations():
    made = normalize_function(weft.add, (x, 1), normalize_to_only_use_kwargs=True)
    assert made.args == () and list(made.kwargs) == ["input", "other", "alpha"] and made.kwargs["other"] == 1
    made = normalize_function(weft.add, (x,), {"other": 3})
    assert made.args == (x, 3) and made.kwargs == {"alpha": 1}
    assert normalize_function(weft.add, (x,), {"elsewhere": 3}) is None and normalize_function(len, ([],)) is None


def test_calls_of_functions_and_modules():
    made = normalize_function(weft.nn.functional.relu, (x,), normalize_to_only_use_kwargs=True)
    assert made.kwargs == {"input": x, "inplace": False}
    root = weft.nn.Sequential(weft.nn.Linear(2, 2))
    made = normalize_module(root, "0", (x,), normalize_to_only_use_kwargs=True)
    assert made.args == () and list(made.kwargs) == ["input"]
