"""Memory shared with NumPy, DLPack and buffers; the allocator; lifetimes."""

import gc
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest

from aten import _native
from aten.tensor import Tensor, from_dlpack, from_numpy, tensor


def test_an_array_and_its_tensor_share_memory_both_ways():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    t = from_numpy(a)
    a[0, 0] = 7
    assert t.tolist() == [[7, 1, 2], [3, 4, 5]]
    b = t.numpy()
    b[1, 2] = -1
    assert a[1, 2] == -1
    assert np.shares_memory(a, b)


def test_memory_outlives_whoever_made_it():
    a = np.arange(4.0)
    ref = weakref.ref(a)
    t = from_numpy(a)
    view = _native.alias(t, (2,), (1,), 2)
    del a, t
    gc.collect()
    assert view.tolist() == [2, 3]
    assert ref() is not None
    del view
    assert ref() is None
    b = tensor([1.0, 2.0]).numpy()
    assert b.tolist() == [1, 2]


@pytest.mark.parametrize(
    "dtype", ["?", "u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ml_dtypes.bfloat16]
)
def test_every_dtype_crosses(dtype):
    a = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    t = from_numpy(a)
    assert t.dtype.to_numpy() == a.dtype
    assert np.array_equal(np.asarray(t), a)
    assert t.tolist() == a.tolist()
    assert np.array_equal(from_numpy(a.T).numpy(), a.T)


def test_arrays_that_cannot_be_shared_are_refused_by_reason():
    a = np.arange(6, dtype=np.float32)
    with pytest.raises(ValueError, match="negative stride"):
        from_numpy(a[::-1])
    with pytest.raises(ValueError, match="byte order"):
        from_numpy(a.astype(">f4"))
    with pytest.raises(ValueError, match="multiple of its 4-byte items"):
        from_numpy(np.zeros(3, [("x", "f4"), ("y", "i2")])["x"])
    with pytest.raises(TypeError, match="no tensor dtype"):
        from_numpy(np.array(["a"]))
    with pytest.raises(TypeError, match="expected np.ndarray"):
        from_numpy([1, 2])


def test_read_only_arrays_give_tensors_that_refuse_writes():
    a = np.zeros(3)
    a.flags.writeable = False
    t = from_numpy(a)
    with pytest.raises(RuntimeError, match="read-only"):
        _native.check_inplace(t)
    assert not t.numpy().flags.writeable
    with pytest.raises(BufferError):
        t.__dlpack__()
    assert from_dlpack(t).tolist() == [0, 0, 0]


def test_dlpack_both_ways():
    t = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.from_dlpack(t).tolist() == t.tolist()
    back = from_dlpack(t)
    assert back.data_ptr() == t.data_ptr()
    a = np.arange(6).reshape(2, 3)
    assert from_dlpack(a.T).tolist() == a.T.tolist()
    assert t.__dlpack_device__() == (1, 0)
    capsule = t.__dlpack__()
    del capsule  # nobody consumed it: its destructor frees the export


def test_buffer_protocol():
    t = tensor([[1, 2, 3], [4, 5, 6]])
    m = memoryview(t)
    assert (m.format, m.shape, m.strides) == (np.dtype(np.int64).char, (2, 3), (24, 8))
    assert not hasattr(t, "__array_interface__")  # an address that nothing keeps alive
    transposed = _native.alias(t, (3, 2), (1, 3), 0)
    assert np.asarray(memoryview(transposed)).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert np.asarray(transposed, dtype=np.float32).dtype == np.float32


def test_numpy_of_a_tensor_that_requires_grad_is_refused():
    t = tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="Use tensor.detach"):
        t.numpy()
    with pytest.raises(RuntimeError, match="Use tensor.detach"):
        np.asarray(t)
    assert t.detach().numpy().tolist() == [1]
    assert t.numpy(force=True).tolist() == [1]


def test_the_allocator_reuses_blocks_and_counts():
    _native.empty((1000, 1000))  # warm
    before = _native.memory_stats()
    for _ in range(10):
        t = _native.empty((1000, 1000))
        assert t.data_ptr() % 64 == 0
        del t
    after = _native.memory_stats()
    assert after["system_allocations"] == before["system_allocations"]
    assert after["allocated_bytes"] == before["allocated_bytes"]
    _native.reset_peak_memory()
    kept = [_native.empty((256,)) for _ in range(3)]
    assert _native.memory_stats()["peak_bytes"] - before["allocated_bytes"] == 3 * 1024
    del kept
    assert _native.empty_cache() > 0


def test_sizes_that_overflow_or_are_negative_raise():
    with pytest.raises(RuntimeError, match="overflow"):
        _native.empty((2**40, 2**40))
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        _native.empty((2, -1))
    with pytest.raises((RuntimeError, MemoryError), match="cannot allocate"):
        _native.empty((2**50,))
    with pytest.raises(RuntimeError, match="out of bounds"):
        _native.alias(tensor([1.0, 2.0]), (3,), (1,), 0)


def test_tensors_die_with_their_last_reference():
    t, other = tensor([1.0, 2.0]), object()
    ref = weakref.ref(t)
    assert sys.getrefcount(t) == sys.getrefcount(other)
    del t
    assert ref() is None
    t = tensor([1.0])
    t.me = t  # a cycle through its dict
    ref = weakref.ref(t)
    del t
    gc.collect()
    assert ref() is None


def test_views_share_the_version_and_data_does_not_advance_it():
    t = tensor([1.0, 2.0])
    view = _native.alias(t, (1,), (1,), 1)
    _native.bump_version(view)
    assert t._version == view._version == 1
    _native.bump_version(t.data)
    assert t._version == 1


def test_resize_moves_the_storage_under_its_views():
    t = tensor([1.0, 2.0])
    view = _native.alias(t, (2,), (1,), 0)
    t.resize_(100)
    assert t.shape == (100,) and view.tolist() == [1, 2]
    assert view.data_ptr() == t.data_ptr()
    with pytest.raises(RuntimeError, match="not resizable"):
        from_numpy(np.zeros(2)).resize_(100)


def test_a_subclass_without_storage_refuses_memory_by_name_of_its_transform():
    class Traced(Tensor):
        transform = "vmap"
        __slots__ = ()

    t = _native.make_tracer(Traced, 11)
    assert t.dtype is _native.dtypes[11]
    uses = [t.numpy, t.data_ptr, t.detach, t.__dlpack__, lambda: memoryview(t), lambda: np.asarray(t), lambda: t.shape]
    for use in uses:
        with pytest.raises(RuntimeError, match="inside vmap"):
            use()
