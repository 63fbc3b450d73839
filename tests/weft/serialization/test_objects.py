"""Whole modules and other objects of classes in files: their class by name, and their state."""

from __future__ import annotations

import collections
import enum
import functools
import io
import pickle

import pytest

import weft
from weft import nn

FORMATS = ("safetensors", "pytorch")


class Mode(enum.Enum):
    FAST = "fast"


class Scale(nn.Module):
    made = 0

    def __init__(self, factor):
        super().__init__()
        Scale.made += 1
        self.factor, self.mode = factor, Mode.FAST
        self.register_buffer("seen", weft.zeros(()))

    def forward(self, x):
        self.seen += 1
        return x * self.factor


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


class Tagged(weft.Tensor):
    pass


class Runs:
    def __reduce__(self):
        return print, ("a file was executed",)


def written(value, format):
    file = io.BytesIO()
    weft.save(value, file, format=format)
    file.seek(0)
    return file


def back(value, format):
    return weft.load(written(value, format), weights_only=False)


@pytest.mark.parametrize("format", FORMATS)
def test_a_module_comes_back_without_its_constructor(format):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), Scale(2.0), nn.TransformerEncoderLayer(3, 1, 4, dropout=0.0))
    model[0].weight.requires_grad_(False)
    model.eval()
    x, made = weft.randn(4, 2), Scale.made
    again = back(model, format)
    assert Scale.made == made and repr(again) == repr(model) and again[2].mode is Mode.FAST and not again.training
    assert not again[0].weight.requires_grad and again[0].bias.requires_grad and isinstance(again[0].bias, nn.Parameter)
    assert again(x).tolist() == model(x).tolist()
    again(x).sum().backward()
    assert again[0].bias.grad is not None and again[2].seen.item() == 2


@pytest.mark.parametrize("format", FORMATS)
def test_recurrent_and_lazy_and_tied_modules(format):
    x = weft.randn(3, 2, 4)
    for model in (nn.LSTM(4, 5, bidirectional=True), nn.GRU(4, 2, 2), nn.MultiheadAttention(4, 2)):
        again = back(model, format)
        arguments = (x, x, x) if isinstance(model, nn.MultiheadAttention) else (x,)
        assert again(*arguments)[0].tolist() == model(*arguments)[0].tolist()
    lazy = back(nn.LazyLinear(3), format)
    assert lazy.has_uninitialized_params() and lazy(x).shape == (3, 2, 3)
    tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    again = back(tied, format)
    assert again[0].weight is again[1].weight


@pytest.mark.parametrize("format", FORMATS)
def test_objects_that_hold_themselves_and_values_of_classes(format):
    model = Scale(1.0)
    model.__dict__["me"] = model
    again = back(model, format)
    assert again.me is again
    point = back(Point(1, weft.ones(2)), format)
    assert point.x == 1 and point.y.tolist() == [1, 1]
    kept = back([collections.deque([1, 2], 3), functools.partial(max, 3), nn.functional.relu, nn.Linear, Mode.FAST], format)
    assert kept[0].maxlen == 3 and kept[1](5) == 5 and kept[2] is nn.functional.relu and kept[3] is nn.Linear
    assert kept[4] is Mode.FAST
    optimizer = weft.optim.SGD([nn.Parameter(weft.ones(2))], lr=0.5, momentum=0.9)
    assert back(optimizer, format).param_groups[0]["lr"] == 0.5


def test_a_tensor_of_a_class_keeps_it():
    tagged = weft.ones(2).as_subclass(Tagged)
    tagged.label = "a"
    again = back(tagged, "safetensors")
    assert type(again) is Tagged and again.label == "a" and again.tolist() == [1, 1]


@pytest.mark.parametrize("format", FORMATS)
def test_by_default_classes_are_refused_by_name(format):
    with pytest.raises(pickle.UnpicklingError, match=r"Linear.*add_safe_globals"):
        weft.load(written(nn.Linear(1, 1), format))
    with pytest.raises(pickle.UnpicklingError, match="max"):
        weft.load(written([max], format))
    with weft.serialization.safe_globals([nn.Linear]):
        assert weft.load(written(nn.Linear(1, 2), format)).out_features == 2
        with pytest.raises(pickle.UnpicklingError, match="ReLU"):
            weft.load(written(nn.Sequential(nn.ReLU()), format).__class__(written(nn.ReLU(), format).getvalue()))


def test_a_file_says_which_classes_it_needs():
    names = weft.serialization.get_unsafe_globals_in_checkpoint(written(nn.Sequential(nn.ReLU()), "pytorch"))
    assert sorted(n.rpartition(".")[2] for n in names) == ["ReLU", "Sequential"]
    assert weft.serialization.get_unsafe_globals_in_checkpoint(written({"a": weft.ones(1)}, "pytorch")) == []
    with pytest.raises(ValueError, match="checkpoint"):
        weft.serialization.get_unsafe_globals_in_checkpoint(written(1, "safetensors"))


@pytest.mark.parametrize("format", FORMATS)
def test_what_would_have_to_be_called_is_not_saved(format):
    for wrong in (Runs(), lambda: 0, nn.Sequential(Scale(lambda: 0)), (i for i in range(3)), object()):
        with pytest.raises(TypeError, match="save"):
            weft.save(wrong, io.BytesIO(), format=format)


def test_files_of_others_call_nothing(capsys):
    """A pickle that calls a function is refused, trusted or not."""
    import zipfile

    for pickled in (pickle.dumps(Runs(), 2), b"\x80\x02cbuiltins\neval\nX\x03\x00\x00\x001+1\x85R."):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a/data.pkl", pickled)
            archive.writestr("a/version", "3\n")
        for trust in (True, False):
            with pytest.raises(pickle.UnpicklingError):
                weft.load(io.BytesIO(file.getvalue()), weights_only=trust)
    assert capsys.readouterr().out == ""


def test_names_of_pytorch_stand_for_ours():
    file = written(nn.Linear(2, 1), "pytorch").getvalue()
    name = f"c{nn.Linear.__module__}\nLinear\n".encode()
    assert name in file
    import zipfile

    renamed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(file)) as source, zipfile.ZipFile(renamed, "w") as target:
        for info in source.infolist():
            data = source.read(info)
            target.writestr(info.filename, data.replace(name, b"ctorch.nn.modules.linear\nLinear\n"))
    assert weft.load(io.BytesIO(renamed.getvalue()), weights_only=False).in_features == 2
