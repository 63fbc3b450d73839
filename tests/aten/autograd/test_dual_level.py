"""Dual tensors of `autograd.forward_ad`: memory that in-place ops write, layouts, and functions of users."""

import pytest
from weft.autograd import forward_ad as fw

import weft


def test_an_in_place_op_writes_the_value_and_the_tangent_where_they_lie():
    value, direction = weft.tensor([1.0, 2.0]), weft.ones(2)
    with fw.dual_level():
        dual = fw.make_dual(value, direction)
        dual.mul_(3)
        dual[:1].add_(dual[1:])
        assert fw.unpack_dual(value).tangent is None
    assert value.tolist() == [9, 6] and direction.tolist() == [6, 3]


def test_a_tensor_that_a_dual_is_written_into_is_one():
    with fw.dual_level():
        dual = fw.make_dual(weft.tensor([1.0, 2.0]), weft.tensor([5.0, 7.0]))
        plain = weft.zeros(3)
        plain[1] = dual[0] * 2
        other = plain.detach()
        assert fw.unpack_dual(plain).tangent.tolist() == [0, 10, 0] and fw.unpack_dual(plain * 2).tangent.tolist() == [0, 20, 0]
        assert fw.unpack_dual(plain[1:]).tangent.tolist() == [10, 0] and fw.unpack_dual(other).tangent is None
        wide = weft.zeros(2, 2).copy_(dual)
        assert fw.unpack_dual(wide).tangent.tolist() == [[5, 7], [5, 7]]
    assert plain.tolist() == [0, 2, 0] and fw.unpack_dual(plain).tangent is None


def test_a_dual_is_its_value_once_the_level_is_closed():
    with fw.dual_level():
        dual = fw.make_dual(weft.tensor([1.0]), weft.tensor([2.0]))
        first, second = fw.unpack_dual(dual), fw.unpack_dual(dual)
        assert first.primal is not second.primal and first.tangent is second.tangent
        assert repr(dual) == "tensor([1.], tangent=tensor([2.]))"
    assert fw.unpack_dual(dual).primal.tolist() == [1] and fw.unpack_dual(dual).tangent is None


def test_a_tangent_lies_in_memory_as_its_value():
    value, direction = weft.zeros(5)[:4].detach(), weft.ones(4)
    with fw.dual_level():
        dual = fw.make_dual(value, direction)
        fw.unpack_dual(dual).tangent.mul_(2)
        assert fw.unpack_dual(dual.as_strided((5,), (1,), 0)).tangent.tolist() == [2, 2, 2, 2, 0]
    assert direction.tolist() == [1] * 4


def test_bad_tangents():
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="a forward gradient that has a different size"):
            fw.make_dual(weft.ones(2), weft.ones(3))
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
            fw.make_dual(weft.ones(2), weft.ones(2, dtype=weft.int64))
        with pytest.raises(RuntimeError, match="has a forward gradient at the same level"):
            fw.make_dual(weft.ones(2), fw.make_dual(weft.ones(2), weft.ones(2)))


def test_tangents_can_be_switched_off():
    assert fw._is_fwd_grad_enabled()
    with fw._set_fwd_grad_enabled(False), fw.dual_level():
        assert fw.unpack_dual(fw.make_dual(weft.ones(1), weft.ones(1))).tangent is None
    assert fw._is_fwd_grad_enabled()


class Double(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x, bad):
        ctx.mark_dirty(x)
        ctx.bad = bad
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, t, _):
        return t if ctx.bad is None else (t.clone() if ctx.bad else t.mul_(2))


def test_a_function_that_writes_its_input_writes_the_tangent():
    with fw.dual_level():
        direction = weft.ones(1)
        dual = fw.make_dual(weft.ones(1), direction)
        assert Double.apply(dual, False) is dual and fw.unpack_dual(dual).tangent is direction
        assert fw.unpack_dual(dual).primal.item() == 2 and direction.item() == 2
        for bad in (True, None):
            with pytest.raises(RuntimeError, match="jvp function must modify the corresponding gradient inplace"):
                Double.apply(dual, bad)


class Apart(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x, n, tell):
        ctx.mark_non_differentiable(out := x.clone())
        ctx.tell = tell
        return x * 2, out

    @staticmethod
    def jvp(ctx, t, n, _):
        assert n is None  # an integer tensor has no tangent, not even zeros
        return t * 2, t if ctx.tell else None


def test_an_output_that_is_not_differentiable_has_no_tangent():
    with fw.dual_level():
        dual = fw.make_dual(weft.ones(1), weft.ones(1))
        first, second = Apart.apply(dual, weft.tensor(3), False)
        assert fw.unpack_dual(first).tangent.item() == 2 and fw.unpack_dual(second).tangent is None
        with pytest.raises(RuntimeError, match="You should return None at that position instead"):
            Apart.apply(dual, weft.tensor(3), True)


def test_an_op_without_a_derivative_says_so():
    with fw.dual_level():
        dual = fw.make_dual(weft.ones(1), weft.ones(1))
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with igamma that does not support it"):
            weft.igamma(dual, dual)
