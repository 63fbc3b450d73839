"""Storages, tensor types of old, dtypes that are kept and cast only, generator states."""

import copy
import pickle

import pytest

import weft
from aten import errors, storage


def test_an_untyped_storage_is_the_bytes_of_a_tensor_and_its_views():
    x = weft.arange(4, dtype=weft.int16)
    s = x.untyped_storage()
    assert (s.nbytes(), len(s), s.tolist()) == (8, 8, [0, 0, 1, 0, 2, 0, 3, 0])
    s[2] = 7
    assert x.tolist() == [0, 7, 2, 3] and x[1:].untyped_storage() == s
    other = copy.deepcopy(s)
    other.fill_(0)
    assert x.tolist() == [0, 7, 2, 3] and pickle.loads(pickle.dumps(s)).tolist() == s.tolist()
    with pytest.raises(IndexError, match="out of range"):
        s[8]


def test_a_storage_grows_and_does_not_give_back_what_tensors_see():
    s = weft.UntypedStorage(4)
    s.resize_(8)
    assert s.nbytes() == 8
    x = weft.zeros(4)
    with pytest.raises(RuntimeError, match="tensors see"):
        x.untyped_storage().resize_(4)
    with pytest.raises(RuntimeError, match="not resizable"):
        weft.from_numpy(x.numpy().copy()).untyped_storage().resize_(64)


def test_set_shows_other_memory():
    x, y = weft.zeros(2), weft.arange(6.0)
    x.set_(y.untyped_storage(), 1, (2, 2), (3, 1))
    assert x.tolist() == [[1, 2], [4, 5]] and x.is_set_to(y.as_strided((2, 2), (3, 1), 1))
    with pytest.raises(RuntimeError, match="require a storage"):
        x.set_(y.untyped_storage(), 5, (2,), (1,))
    assert weft.zeros(3).set_().shape == (0,)


def test_typed_storages_warn_and_count_elements():
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        s = weft.tensor([1.0, 2.0]).storage()
        assert s.size() == 2 and s[1] == 2.0 and s.tolist() == [1.0, 2.0]
        assert weft.FloatStorage([1, 2]).type() == "torch.FloatStorage"
        assert weft.LongStorage(3).nbytes() == 24
    assert isinstance(s, storage.TypedStorage)


def test_tensor_types_of_old_construct_and_are_asked():
    assert weft.LongTensor([1, 2]).dtype is weft.int64 and weft.FloatTensor(2, 3).shape == (2, 3)
    assert isinstance(weft.zeros(1), weft.FloatTensor) and not isinstance(weft.zeros(1), weft.LongTensor)
    x = weft.zeros(2)
    assert x.type() == "torch.FloatTensor" and x.type("torch.LongTensor").dtype is weft.int64
    assert x.type(weft.DoubleTensor).dtype is weft.float64 and x.new([1, 2]).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="invalid type"):
        x.type("FloatTensor")
    with pytest.raises(TypeError):
        weft.FloatTensor(2.5)


def test_functions_of_single_elements():
    x = weft.tensor([1.0, 2.0])
    assert x.apply_(lambda v: v * 2).tolist() == [2.0, 4.0]
    assert x.map_(weft.tensor([1.0, 3.0]), lambda a, b: a - b).tolist() == [1.0, 1.0]


# PyTorch 2.13: torch.tensor([...]).to(dtype).tolist()
@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (weft.float8_e4m3fn, [0.1015625, 448.0, 448.0, -1.5]),
        (weft.float8_e5m2, [0.09375, 448.0, 1024.0, -1.5]),
        (weft.float8_e4m3fnuz, [0.1015625, float("nan"), float("nan"), -1.5]),
    ],
)
def test_floats_of_eight_bits_are_kept_and_cast(dtype, values):
    x = weft.tensor([0.1, 450.0, 1e3, -1.5])
    y = x.to(dtype)
    assert y.dtype is dtype and y.element_size() == 1
    assert y.isnan().tolist() == y.float().isnan().tolist() == [v != v for v in values]
    assert repr(y.tolist()) == repr(values) == repr(y.float().tolist())
    assert repr(weft.tensor([0.1, 450.0, 1e3, -1.5], dtype=dtype).tolist()) == repr(values)
    assert weft.empty(2, dtype=dtype).fill_(0.1)[0].item() == values[0]
    with pytest.raises(RuntimeError, match="Promotion for Float8"):
        y + x


def test_powers_of_two_are_kept_and_cast():
    x = weft.tensor([0.0, 1.0, 1.4, 1.5, 3.0, 5.0, -2.0, 1e-45, 3e38, float("inf"), 0.75, 2.0**-127, 1.5 * 2.0**-127])
    powers = x.to(weft.float8_e8m0fnu)  # PyTorch 2.13's codes
    assert powers.view(weft.uint8).tolist() == [0, 127, 127, 128, 129, 129, 128, 0, 255, 255, 127, 0, 1]
    assert powers[1:6].float().tolist() == [1.0, 1.0, 2.0, 4.0, 4.0] and powers[8].isnan()
    assert weft.tensor([1.0, 3.0, 5.0], dtype=weft.float8_e8m0fnu).tolist() == [1.0, 4.0, 4.0]
    assert (powers.bfloat16() == powers.float()).tolist() == (powers.float() == powers.float()).tolist()


def test_complex_numbers_of_halves():
    x = weft.tensor([1 + 2j, 3 - 1j]).to(weft.complex32)
    assert x.dtype is weft.complex32 and x.element_size() == 4
    assert (x * 2).tolist() == [2 + 4j, 6 - 2j] and (x * 2).dtype is weft.complex32
    assert x.to(weft.complex64).tolist() == [1 + 2j, 3 - 1j] and weft.promote_types(weft.float16, weft.complex32) is weft.complex32
    assert repr(x) == "tensor([1.+2.j, 3.-1.j], dtype=weft.complex32)"


def test_a_cast_to_eight_bits_is_compiled():
    f = weft.compile(lambda x: x.to(weft.float8_e5m2).float() + 1, fullgraph=True)
    x = weft.randn(10)
    assert f(x).tolist() == (x.to(weft.float8_e5m2).float() + 1).tolist()


def test_states_of_generators_are_bytes():
    state = weft.get_rng_state()
    assert state.dtype is weft.uint8 and state.shape == (16,)
    a = weft.rand(3)
    weft.set_rng_state(state)
    assert weft.rand(3).tolist() == a.tolist()
    g = weft.Generator().manual_seed(3)
    h = g.clone_state()
    assert weft.rand(2, generator=g).tolist() == weft.rand(2, generator=h).tolist() and g.device == weft.device("cpu")
    with pytest.raises(TypeError):
        g.set_state([1, 2])
    with weft.random.fork_rng() if hasattr(weft, "random") and hasattr(weft.random, "fork_rng") else weft.fork_rng():
        weft.rand(5)


def test_frombuffer_shares_memory():
    data = bytearray(8)
    x = weft.frombuffer(data, dtype=weft.int32)
    x[1] = 1
    assert data[4] == 1
    with pytest.raises(ValueError, match="multiple of element size"):
        weft.frombuffer(bytearray(7), dtype=weft.int32)


def test_a_tensor_knows_its_layout_and_views():
    x = weft.zeros(2, 3, 4, 5)
    assert x.layout is weft.strided and not x.is_sparse and x[0]._is_view() and not x._is_view()
    assert x.is_contiguous(memory_format=weft.contiguous_format) and not x.is_contiguous(memory_format=weft.channels_last)
    assert x.permute(0, 3, 1, 2).is_contiguous(memory_format=weft.channels_last)
    assert repr(type(x)) == "<class 'weft.Tensor'>" and repr(type(x.dtype)) == "<class 'weft.dtype'>"


def test_a_storage_without_memory_has_no_elements():
    for read in (lambda s: s[0], lambda s: s.__setitem__(0, 1)):
        with pytest.raises(NotImplementedError, match="meta"):
            read(weft.zeros(2, device="meta").untyped_storage())


def test_diff_says_what_does_not_fit():
    with pytest.raises(RuntimeError, match="same dimension as input"):
        weft.diff(weft.ones(3, 3), prepend=weft.ones(3))
    with pytest.raises(RuntimeError, match="except along the differencing dimension"):
        weft.diff(weft.ones(3, 3), prepend=weft.ones(2, 1))


def test_a_tensor_of_a_storage_reads_its_bytes_as_elements():
    x = weft.tensor([1.5, -2.0])
    made = weft.tensor(x.untyped_storage(), dtype=weft.float32)
    x.zero_()
    assert made.tolist() == [1.5, -2.0] and made.dtype is weft.float32
    assert weft.tensor(weft.ones(2, dtype=weft.int16).untyped_storage()).tolist() == [1, 0, 1, 0]


def test_a_leaf_that_requires_grad_keeps_its_memory():
    x = weft.ones(2).requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.set_(weft.zeros(2))
    with weft.no_grad():
        x.set_(weft.zeros(3))
    assert x.shape == (3,)


@pytest.mark.parametrize("items,bytes_", [([1, 2, 300], [1, 2, 44]), ((-1,), [255]), ([True, False], [1, 0]), ([], [])])
def test_an_untyped_storage_of_a_sequence_has_its_bytes(items, bytes_):
    assert weft.UntypedStorage(items).tolist() == bytes_


@pytest.mark.parametrize("args,error", [(([1.5],), RuntimeError), (("a",), RuntimeError), ((1, 2), TypeError), ((1.5,), TypeError)])
def test_an_untyped_storage_is_refused(args, error):
    with pytest.raises(error):
        weft.UntypedStorage(*args)


def test_memory_that_others_show_is_not_resizable():
    x = weft.zeros(3)
    assert x.untyped_storage().resizable()
    array = x.numpy()
    assert not x.untyped_storage().resizable() and not weft.from_numpy(array).untyped_storage().resizable()
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(100)


def test_typed_storages_by_their_private_names():
    errors.forget_warnings()
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        s = weft.FloatStorage([1.0, 2.0])
    weft.FloatStorage([1.0])  # (which says nothing more)
    assert weft.FloatStorage._dtype is weft.float32 and s._deepcopy({})._tolist() == [1, 2]
    assert s._deepcopy({})._data_ptr() != s._data_ptr()


def test_a_storage_of_meta_has_the_size_of_a_sequence():
    s = weft.UntypedStorage([1, 2, 3], device="meta")
    assert (s.nbytes(), s.device.type) == (3, "meta")
