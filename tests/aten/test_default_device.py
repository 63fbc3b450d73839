"""The device of new tensors where none is named."""

import weft


def test_a_device_is_a_context():
    with weft.device("meta"):
        assert weft.zeros(2).is_meta and weft.tensor([1]).is_meta and weft.get_default_device().type == "meta"
        with weft.device("cpu"):
            assert weft.ones(1).is_cpu
        assert weft.zeros(1, device="cpu").is_cpu and weft.nn.Linear(2, 2).weight.is_meta
    assert weft.zeros(2).is_cpu and weft.get_default_device() == weft.device("cpu")


def test_a_default_is_set():
    weft.set_default_device("meta")
    try:
        assert weft.rand(2).is_meta
        with weft.device("cpu"):
            assert weft.rand(2).is_cpu
    finally:
        weft.set_default_device(None)
    assert weft.rand(2).is_cpu
