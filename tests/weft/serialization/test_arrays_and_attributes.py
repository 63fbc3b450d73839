"""Arrays of NumPy, layouts, Ellipsis, and the attributes of tensors: saved and loaded in both formats."""

import numpy as np
import pytest

import weft

FORMATS = pytest.mark.parametrize("ending", [".pt", ".safetensors"])


def again(value, folder, ending):
    weft.save(value, folder / f"x{ending}")
    return weft.load(folder / f"x{ending}", weights_only=False)


@FORMATS
@pytest.mark.parametrize(
    "array", [np.arange(3), np.zeros((2, 3), np.float16, order="F"), np.array(["a", "bc"]), np.array(1.5), np.zeros((0, 2))]
)
def test_arrays(tmp_path, ending, array):
    found = again({"a": array}, tmp_path, ending)["a"]
    assert type(found) is np.ndarray and found.dtype == array.dtype and found.flags.writeable
    assert found.shape == array.shape and found.strides == array.strides and (found == array).all()


@FORMATS
def test_states_of_random_numbers_layouts_and_ellipsis(tmp_path, ending):
    np.random.set_state(again(np.random.get_state(), tmp_path, ending))
    assert again([weft.strided, weft.sparse_csr, ..., b""], tmp_path, ending) == [weft.strided, weft.sparse_csr, ..., b""]


@FORMATS
def test_arrays_of_objects_are_refused(tmp_path, ending):
    with pytest.raises(TypeError, match="ndarray"):
        again(np.array([1, "a"], object), tmp_path, ending)


@FORMATS
def test_attributes_of_tensors(tmp_path, ending):
    x, p = weft.ones(2, requires_grad=True), weft.nn.Parameter(weft.ones(2), requires_grad=False)
    x.foo, p.foo = [3, x], "a"
    y, q, same = again([x, p, x], tmp_path, ending)
    assert y.foo == [3, y] and y is same and y.requires_grad
    assert q.foo == "a" and type(q) is weft.nn.Parameter and not q.requires_grad
