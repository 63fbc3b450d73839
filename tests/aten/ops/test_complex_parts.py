"""real, imag, view_as_real and view_as_complex show the memory of their tensor: answers as PyTorch's (literals)."""

import math

import pytest

import weft


def numbers():
    return weft.tensor([1 + 2j, 3 + 4j])


def write_parts(z):
    z.real.add_(1)
    z.imag[0] = 9
    weft.view_as_real(z)[1, 1] = 7
    return z * 1


def test_what_is_written_to_a_part_is_written_to_the_tensor():
    z = numbers()
    write_parts(z)
    assert z.tolist() == [2 + 9j, 4 + 7j]
    assert z._version == 3 and z.real._base is z and z.imag.storage_offset() == 1 and z.imag.stride() == (2,)


def test_compiled_code_writes_parts_too():
    z = numbers()
    made = weft.compile(write_parts, fullgraph=True)(z)
    assert z.tolist() == made.tolist() == [2 + 9j, 4 + 7j]


def test_compiled_code_returns_parts_of_its_arguments_as_views():
    z = numbers()
    part, twice = weft.compile(lambda z: (z.imag, z.real * 2), fullgraph=True)(z)
    part.fill_(5)
    assert part._base is z and z.tolist() == [1 + 5j, 3 + 5j] and twice.tolist() == [2, 6]


def test_a_part_is_assigned():
    z = numbers()
    z.real, z.imag = weft.tensor([9.0, 8.0]), 5
    assert z.tolist() == [9 + 5j, 8 + 5j]


def test_gradients_go_through_what_was_written_to_parts():
    z = weft.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    w = z * 1
    w.real.mul_(3)
    w.imag[0] = 4
    (g,) = weft.autograd.grad(w.real.sum() + (w.imag * w.imag).sum(), z)
    assert g.tolist() == [3, 3 + 8j]


def test_pairs_are_written_through_complex_numbers():
    pairs = weft.zeros(2, 2)
    weft.view_as_complex(pairs)[0] = 1 + 2j
    assert pairs.tolist() == [[1, 2], [0, 0]]


@pytest.mark.parametrize(
    "pairs,text",
    [
        (lambda: weft.zeros(4)[::2], "Tensor must have a last dimension with stride 1"),
        (lambda: weft.zeros(9)[1:].view(4, 2), "Tensor must have a storage_offset divisible by 2"),
        (lambda: weft.zeros(2, 3)[:, :2], "Tensor must have a stride divisible by 2 for all but last dimension"),
        (lambda: weft.zeros(2, 3), "Tensor must have a last dimension of size 2"),
    ],
)
def test_pairs_that_do_not_lie_as_complex_numbers_are_refused(pairs, text):
    with pytest.raises(RuntimeError, match=text):
        weft.view_as_complex(pairs())


def test_under_vmap_pairs_may_lie_anyhow():
    pairs = weft.arange(24.0).view(2, 3, 4)[..., :2]
    made = weft.func.vmap(weft.view_as_complex, in_dims=1)(pairs)
    assert made.tolist() == [[0 + 1j, 12 + 13j], [4 + 5j, 16 + 17j], [8 + 9j, 20 + 21j]]


def test_directions_are_complex_numbers_of_size_one():
    z = weft.tensor([3 + 4j, 0j, -2.0, complex(-0.0, 0.0), complex(1.0, -0.0)])
    for _ in range(5):
        found = z.sgn()
    assert weft.view_as_real(found)[:3].allclose(weft.tensor([[0.6, 0.8], [0, 0], [-1, 0]]))
    assert weft.view_as_real(found).signbit().tolist()[3:] == [[False, False], [False, True]]
    assert weft.autograd.gradcheck(lambda z: z.sgn(), (weft.tensor([1 + 2j, 3 - 1j], dtype=weft.complex128, requires_grad=True),))


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16, weft.float32, weft.float64], ids=str)
@pytest.mark.parametrize("grad", [False, True])
def test_angles_of_reals_have_their_dtype(dtype, grad):
    x = weft.tensor([1.0, -2.0, math.nan, -0.0], dtype=dtype, requires_grad=grad)
    for f in (weft.angle, weft.compile(weft.angle, fullgraph=True)):
        for at in (x, x[1]):
            found = f(at)
            assert found.dtype is dtype and found.requires_grad is grad
            assert found.reshape(-1)[at.ndim].item() == weft.tensor(math.pi, dtype=dtype).item()  # not that of float32
    assert weft.angle(weft.tensor([True, False])).dtype is weft.float32


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "made, error, message",
    [
        (lambda x: weft.complex(x, x), RuntimeError, "Half, Float or Double tensors but got BFloat16 and BFloat16"),
        (lambda x: weft.polar(x, x), RuntimeError, "Half, Float or Double tensors but got BFloat16 and BFloat16"),
        (lambda x: weft.complex(x, x.float()), RuntimeError, "Half, Float or Double tensors but got BFloat16 and Float"),
        (lambda x: weft.complex(x.float(), x.double()), RuntimeError, "scalar type Float but got scalar type Double"),
        (lambda x: weft.polar(x.half(), x.half()), NotImplementedError, "\"polar_cpu\" not implemented for 'Half'"),
        (lambda x: weft.view_as_complex(x), RuntimeError, "float and double tensors, but got a tensor of scalar type: BFloat16"),
    ],
)
def test_there_are_no_complex_numbers_of_bfloat16(made, error, message, compiled):
    with pytest.raises(error, match=message):
        (weft.compile(made) if compiled else made)(weft.ones([4, 2], dtype=weft.bfloat16))
