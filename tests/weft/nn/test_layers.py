"""Layers: what they print, how they are set up, their errors, and that they compile to what they are."""

import pytest

import weft
from weft import nn


def image(*sizes):
    return weft.randn(*(sizes or (2, 4, 8, 8)))


def sequence():
    return image(2, 4, 9)


def volume():
    return image(2, 4, 5, 6, 7)


# name, arguments, input: forward, backward and compiled forms follow
LAYERS = [
    ("Conv1d", (4, 6, 3), sequence),
    ("Conv2d", (4, 6, 3, 1, "same"), image),
    ("Conv2d", (4, 6, 3, 2, 1, 1, 2, False, "reflect"), image),
    ("Conv3d", (4, 2, 2), volume),
    ("ConvTranspose1d", (4, 6, 3), sequence),
    ("ConvTranspose2d", (4, 6, 3, 2, 1, 1), image),
    ("ConvTranspose3d", (4, 2, 2), volume),
    ("BatchNorm1d", (4,), sequence),
    ("BatchNorm2d", (4,), image),
    ("BatchNorm2d", (4, 1e-3, None), image),
    ("BatchNorm3d", (4, 1e-5, 0.1, False, False), volume),
    ("SyncBatchNorm", (4,), image),
    ("InstanceNorm1d", (4,), sequence),
    ("InstanceNorm2d", (4, 1e-5, 0.1, True, True), image),
    ("GroupNorm", (2, 4), image),
    ("LayerNorm", (8,), image),
    ("RMSNorm", ((8, 8),), image),
    ("LocalResponseNorm", (2,), image),
    ("MaxPool1d", (2,), sequence),
    ("MaxPool2d", (3, 2, 1), image),
    ("MaxPool3d", (2,), volume),
    ("AvgPool1d", (2,), sequence),
    ("AvgPool2d", (3, 2, 1, True, False), image),
    ("AvgPool3d", (2,), volume),
    ("LPPool2d", (2, 2), image),
    ("AdaptiveAvgPool2d", ((3, None),), image),
    ("AdaptiveMaxPool2d", (3,), image),
    ("ConstantPad1d", (2, 3.5), sequence),
    ("ZeroPad2d", ((1, 2, 3, 4),), image),
    ("ReflectionPad2d", (1,), image),
    ("ReplicationPad3d", (1,), volume),
    ("CircularPad2d", (2,), image),
    ("Upsample", (None, 2), image),
    ("Upsample", (5, None, "bilinear", True), image),
    ("UpsamplingNearest2d", (None, 2), image),
    ("PixelShuffle", (2,), image),
    ("PixelUnshuffle", (2,), image),
    ("ChannelShuffle", (2,), image),
    ("Unfold", (2,), image),
    ("Fold", ((4, 5), 2), lambda: image(2, 8, 12)),
    ("Flatten", (), image),
    ("Unflatten", (1, (2, 2)), image),
    ("ReLU", (True,), lambda: image() * 1),
    ("Hardtanh", (), image),
    ("Softmax2d", (), image),
    ("GLU", (1,), image),
    ("PReLU", (4,), image),
    ("Threshold", (0.1, 20.0), image),
    ("Bilinear", (8, 8, 3), lambda: (image(), image())),
    ("CosineSimilarity", (), lambda: (image(), image())),
    ("PairwiseDistance", (), lambda: (image(), image())),
]


def results(module, inputs):
    """The output, and the gradients of inputs and parameters."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    out = module(*[x * 1 for x in inputs])
    (out * weft.linspace(0.5, 1.5, out.numel()).reshape(out.shape)).sum().backward()
    return [out, *(x.grad for x in inputs), *(p.grad for p in module.parameters())]


@pytest.mark.parametrize("name,arguments,make", LAYERS, ids=[f"{i}-{row[0]}" for i, row in enumerate(LAYERS)])
def test_a_layer_compiles_to_what_it_is(name, arguments, make):
    weft.manual_seed(0)
    inputs = make()
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    eager, captured = (getattr(nn, name)(*arguments) for _ in range(2))
    captured.load_state_dict(eager.state_dict())
    compiled = weft.compile(captured, backend="eager", fullgraph=True)
    for plain, other in zip(results(eager, inputs), results(compiled, inputs)):
        weft.testing.assert_close(other, plain)
    for key, value in eager.state_dict().items():
        weft.testing.assert_close(captured.state_dict()[key], value)


# As PyTorch 2.13 prints them.
PRINTED = [
    (lambda: nn.Conv2d(4, 6, 3), "Conv2d(4, 6, kernel_size=(3, 3), stride=(1, 1))"),
    (
        lambda: nn.Conv1d(4, 6, 3, 2, 1, 2, 2, False, "circular"),
        "Conv1d(4, 6, kernel_size=(3,), stride=(2,), padding=(1,), dilation=(2,), groups=2, bias=False, padding_mode=circular)",
    ),
    (
        lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1),
        "ConvTranspose2d(4, 6, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1))",
    ),
    (lambda: nn.BatchNorm2d(4), "BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"),
    (lambda: nn.MaxPool2d(3, 2), "MaxPool2d(kernel_size=3, stride=2, padding=0, dilation=1, ceil_mode=False)"),
    (lambda: nn.AvgPool1d(2), "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    (lambda: nn.ReLU(True), "ReLU(inplace=True)"),
    (lambda: nn.ReLU6(), "ReLU6()"),
    (lambda: nn.GELU("tanh"), "GELU(approximate='tanh')"),
    (lambda: nn.Hardtanh(-2.0), "Hardtanh(min_val=-2.0, max_val=1.0)"),
    (lambda: nn.Softshrink(), "Softshrink(0.5)"),
    (lambda: nn.Dropout2d(0.25), "Dropout2d(p=0.25, inplace=False)"),
    (lambda: nn.ZeroPad2d(1), "ZeroPad2d((1, 1, 1, 1))"),
    (lambda: nn.ConstantPad1d(1, 2.0), "ConstantPad1d(padding=(1, 1), value=2.0)"),
    (lambda: nn.Upsample(scale_factor=2), "Upsample(scale_factor=2.0, mode='nearest')"),
    (lambda: nn.CrossEntropyLoss(), "CrossEntropyLoss()"),
]


@pytest.mark.parametrize("make,text", PRINTED)
def test_layers_print(make, text):
    assert repr(make()) == text


ERRORS = [
    (lambda: nn.Conv2d(3, 6, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
    (lambda: nn.Conv2d(4, 6, 3, padding="full"), ValueError, "Invalid padding string 'full'"),
    (lambda: nn.Conv2d(4, 6, 3, 2, "same"), ValueError, "padding='same' is not supported for strided convolutions"),
    (lambda: nn.ConvTranspose1d(4, 6, 3, padding_mode="reflect"), ValueError, "padding mode is supported"),
    (lambda: nn.ConvTranspose2d(4, 6, 3, 2)(image(), output_size=[30, 30]), ValueError, "requested an output size"),
    (lambda: nn.BatchNorm2d(4)(sequence()), ValueError, r"expected 4D input \(got 3D input\)"),
    (lambda: nn.BatchNorm1d(4)(image()), ValueError, r"expected 2D or 3D input \(got 4D input\)"),
    (lambda: nn.InstanceNorm2d(5, affine=True)(image()), ValueError, "to match num_features"),
    (lambda: nn.GroupNorm(3, 4), ValueError, "must be divisible by num_groups"),
    (lambda: nn.Dropout(1.5), ValueError, "dropout probability has to be between 0 and 1"),
    (lambda: nn.ELU(1.0, False, 3), TypeError, "positional arguments"),
    (lambda: nn.MultiheadAttention(6, 4), AssertionError, "embed_dim must be divisible by num_heads"),
    (lambda: nn.TripletMarginLoss(margin=0), ValueError, "expected margin to be greater than 0"),
]


@pytest.mark.parametrize("make,error,message", ERRORS)
def test_what_layers_refuse(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_batch_normalisation_follows_the_batches():
    norm = nn.BatchNorm1d(2, momentum=None)
    for x in ([[0.0, 2.0], [2.0, 6.0]], [[1.0, 0.0], [3.0, 4.0]]):
        norm(weft.tensor(x))
    assert norm.running_mean.tolist() == [1.5, 3.0] and norm.running_var.tolist() == [2.0, 8.0]
    assert norm.num_batches_tracked.item() == 2
    assert list(norm.state_dict()) == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    old = {k: v for k, v in norm.state_dict().items() if k != "num_batches_tracked"}
    assert nn.BatchNorm1d(2).load_state_dict(old).missing_keys == []


def test_synchronised_normalisation_takes_over_what_there_was():
    model = nn.Sequential(nn.Conv2d(4, 4, 1), nn.Sequential(nn.BatchNorm2d(4)))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert type(converted[1][0]) is nn.SyncBatchNorm and converted is model
    assert converted(image()).shape == (2, 4, 8, 8)


def test_lazy_layers_become_ordinary_ones():
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    assert repr(model[0]) == "LazyLinear(in_features=0, out_features=3, bias=True)"
    assert isinstance(model[0].weight, nn.UninitializedParameter)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        _ = model[0].weight.shape
    model(weft.randn(5, 7))
    assert type(model[0]) is nn.Linear and type(model[1]) is nn.BatchNorm1d
    assert type(model[0].weight) is nn.Parameter and model[0].weight.shape == (3, 7) and model[0].in_features == 7


def test_old_reduction_flags():
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        loss = nn.MSELoss(size_average=False)
    assert loss.reduction == "sum"


def test_where_pytorch_keeps_the_bases():
    from weft.nn.modules.container import Sequential
    from weft.nn.modules.module import Module

    from weft.nn.modules.batchnorm import _BatchNorm
    from weft.nn.modules.conv import _ConvNd
    from weft.nn.modules.utils import _pair

    assert issubclass(nn.BatchNorm2d, _BatchNorm) and issubclass(nn.ConvTranspose1d, _ConvNd) and _pair(3) == (3, 3)
    assert Module is nn.Module and Sequential is nn.Sequential and nn.modules.conv.Conv2d is nn.Conv2d
    with pytest.raises(AttributeError, match="has no attribute 'Conv4d'"):
        _ = nn.Conv4d


IN_PLACE = ["ReLU", "ReLU6", "ELU", "SELU", "CELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "Hardtanh", "LeakyReLU", "RReLU"]


@pytest.mark.parametrize("name", IN_PLACE)
def test_activations_in_place_have_the_same_gradients(name):
    x = weft.linspace(-4.0, 4.0, 12, requires_grad=True)
    plain, within = getattr(nn, name)().eval(), getattr(nn, name)(inplace=True).eval()
    (expected,) = weft.autograd.grad(plain(x).sin().sum(), x)
    given = x * 1
    result = within(given)
    assert result is given
    weft.testing.assert_close(result, plain(x))
    weft.testing.assert_close(weft.autograd.grad(result.sin().sum(), x)[0], expected)
