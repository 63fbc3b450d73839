"""`set_printoptions` under the name that programs call."""

import weft


def test_set_printoptions():
    x = weft.tensor([1.23456, 2e-6])
    try:
        weft.set_printoptions(precision=2, sci_mode=False)
        assert repr(x) == "tensor([1.23, 0.00])"
    finally:
        weft.set_printoptions(profile="default")
    assert repr(x) == "tensor([1.2346e+00, 2.0000e-06])"


def test_subclasses_are_called_by_their_name():
    class Marked(weft.Tensor):
        pass

    class Kept(weft.nn.Parameter):
        pass

    assert repr(weft.ones(2).as_subclass(Marked)) == "Marked([1., 1.])" and repr(weft.ones(2)) == "tensor([1., 1.])"
    assert repr(Kept(weft.ones(1))) == "Parameter containing:\ntensor([1.], requires_grad=True)"


def test_options_for_a_block():
    x = weft.tensor([1.23456, 2.0])
    with weft._tensor_str.printoptions(precision=2, sci_mode=True):
        assert repr(x) == "tensor([1.23e+00, 2.00e+00])"
        assert weft._tensor_str.get_printoptions()["precision"] == 2
    assert repr(x) == "tensor([1.2346, 2.0000])"
