"""Warnings and classes of error that programs meet who do something well known to be wrong."""

import io
import pickle
import warnings

import pytest

import weft
from aten import errors


@pytest.fixture(autouse=True)
def told_anew(monkeypatch):
    monkeypatch.setattr(errors, "_warned", set())


@pytest.mark.parametrize(
    "run, text",
    [
        (lambda: (weft.ones(2, requires_grad=True) * 2).grad, "not a leaf Tensor is being accessed"),
        (lambda: weft.tensor(weft.ones(2)), "To copy construct from a tensor"),
        (lambda: weft.meshgrid(weft.arange(2), weft.arange(2)), "pass the indexing argument"),
        (lambda: weft.range(0, 3), "torch.range is deprecated"),
        (lambda: weft.ones(2, 2, 2).T, "on tensors of dimension other than 2"),
    ],
)
def test_warnings(run, text):
    with pytest.warns(UserWarning, match=text):
        run()


def test_a_checkpoint_through_which_no_gradient_comes():
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        weft.utils.checkpoint.checkpoint(lambda x: x * 2, weft.ones(2), use_reentrant=True)


def test_no_warning_where_nothing_is_wrong():
    x = weft.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None and y.grad is None and weft.ones(2).grad is None
        weft.ones(2, 3).T, weft.meshgrid(weft.arange(2), indexing="ij")


def test_files_that_are_none(tmp_path):
    with pytest.raises(pickle.UnpicklingError):
        weft.load(io.BytesIO(b"no file of tensors"))
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        weft.save({}, tmp_path / "nowhere" / "x.pt")


def test_one_sample_with_several_classes():
    with pytest.raises(ValueError, match="1D target must have size 1"):
        weft.nn.functional.nll_loss(weft.ones(3), weft.tensor([0, 1]))


def test_bounds_of_a_uniform_distribution():
    with pytest.raises(ValueError, match="parameter low .*LessThan"):
        weft.distributions.Uniform(1.0, 0.0)
    assert str(weft.distributions.Uniform(0.0, 2.0).arg_constraints["low"]) == "LessThan(upper_bound=2.0)"


def test_strides_of_what_is_saved():
    for format in ("safetensors", "pytorch"):
        file = io.BytesIO()
        image = weft.ones(1, 2, 3, 4).to(memory_format=weft.channels_last)
        weft.save({"t": weft.arange(6).view(2, 3).t(), "c": image}, file, format=format)
        file.seek(0)
        found = weft.load(file)
        assert found["t"].stride() == (1, 3) and found["t"].tolist() == [[0, 3], [1, 4], [2, 5]]
        assert found["c"].is_contiguous(memory_format=weft.channels_last)


def test_names_of_what_is_overridden():
    seen = []

    class Logged(weft.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(weft.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = weft.ones(2).as_subclass(Logged)
    x.shape, x[0]
    assert seen == ["torch.Tensor.shape.__get__", "torch.Tensor.__getitem__"]
    assert weft.optim.lr_scheduler.StepLR.__module__ == "weft.optim.lr_scheduler"
