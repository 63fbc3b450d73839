"""Calls that PyTorch refuses are refused with an error of the class that PyTorch's has (recorded from PyTorch 2.13)."""

import pytest

import weft as torch
from weft import nn
from weft.nn import functional as F

ones, randn, tensor = torch.ones, torch.randn, torch.tensor
linalg, fft, D = torch.linalg, torch.fft, torch.distributions

CALLS = {
    "scatter into a number": (lambda: torch.scatter(1, -1, torch.zeros(0, dtype=torch.int64), ones(1, 2)), TypeError),
    "a copy into a number": (lambda: torch.ops.aten.copy_(2, ones(1, 2), True), (TypeError, RuntimeError)),
    "a feature dropout of a vector": (lambda: F.dropout2d(randn(3)), RuntimeError),
    "a feature dropout of a vector, 1d": (lambda: nn.Dropout1d()(randn(3)), RuntimeError),
    "class weights of another dtype": (
        lambda: F.cross_entropy(randn(2, 3), tensor([0, 1]), ones(3).double()),
        RuntimeError,
    ),
    "class weights of another dtype, nll": (lambda: F.nll_loss(randn(2, 3), tensor([0, 1]), ones(3).double()), RuntimeError),
    "too few weights of margins": (lambda: F.multi_margin_loss(randn(2, 3), tensor([0, 1]), weight=ones(2)), RuntimeError),
    "LSTM of another dtype": (lambda: nn.LSTM(3, 4)(randn(5, 2, 3).double()), ValueError),
    "GRU of another dtype": (lambda: nn.GRU(3, 4)(randn(5, 2, 3).double()), ValueError),
    "sequences that are numbers": (lambda: nn.utils.rnn.pad_sequence([1, 2]), TypeError),
    "a packed sequence that is none": (lambda: nn.utils.rnn.pad_packed_sequence(randn(3)), AttributeError),
    "quantiles of another dtype": (lambda: torch.quantile(ones(2), tensor([0.5]).double()), RuntimeError),
    "negative rates": (lambda: torch.poisson(tensor([-1.0])), RuntimeError),
    "an endless range": (lambda: torch.arange(0, float("inf")), RuntimeError),
    "randint without sizes": (lambda: torch.randint(0, 2), TypeError),
    "a product of matrices' elements": (lambda: torch.cartesian_prod(ones(2, 2)), RuntimeError),
    "a grid of matrices": (lambda: torch.meshgrid(ones(2, 2), indexing="ij"), RuntimeError),
    "powers of a matrix's rows": (lambda: torch.vander(ones(2, 2)), RuntimeError),
    "factors with a zero pivot": (lambda: linalg.lu_factor(torch.zeros(2, 2)), RuntimeError),
    "factors with a zero pivot, asked": (lambda: linalg.lu_factor_ex(torch.zeros(2, 2), check_errors=True), RuntimeError),
    "pivots of int64": (lambda: linalg.lu_solve(torch.eye(2), tensor([1, 2]), ones(2, 1)), RuntimeError),
    "pivots of int64, unpacked": (lambda: torch.lu_unpack(torch.eye(2), tensor([1, 2])), RuntimeError),
    "reflections wider than high": (lambda: linalg.householder_product(randn(2, 3), randn(3)), RuntimeError),
    "more reflections than columns": (lambda: linalg.householder_product(randn(3, 2), randn(3)), RuntimeError),
    "least squares of a vector": (lambda: linalg.lstsq(randn(3), randn(3)), RuntimeError),
    "an unknown driver": (lambda: linalg.lstsq(randn(3, 2), randn(3, 2), driver="foo"), RuntimeError),
    "a matrix norm over three dims": (lambda: linalg.norm(randn(2, 2, 2), 2, dim=(0, 1, 2)), RuntimeError),
    "more sizes than dims": (lambda: fft.fftn(randn(3, 3), s=(1, 2, 3)), RuntimeError),
    "a transform of -1 points": (lambda: fft.fft(randn(3), n=-1), RuntimeError),
    "a transform to -1 points": (lambda: fft.hfft(randn(3), n=-1), RuntimeError),
    "a subscript that is a digit": (lambda: torch.einsum("i1->i", ones(2, 2)), RuntimeError),
    "where with one value": (lambda: torch.where(ones(2) > 0, ones(2)), TypeError),
    "set_ of a number": (lambda: ones(2).set_(3), TypeError),
    "more rows than indices": (lambda: ones(2).index_copy_(0, tensor([0]), ones(2)), IndexError),
    "None as an element": (lambda: ones(2).__setitem__(0, None), TypeError),
    "a sparse sum of a dense tensor": (lambda: torch.sparse.sum(ones(2)), RuntimeError),
    "a state of floats": (lambda: torch.set_rng_state(torch.zeros(3)), TypeError),
    "numel of a number": (lambda: torch.numel(3), TypeError),
    "more segments than modules": (
        lambda: torch.utils.checkpoint.checkpoint_sequential(nn.Sequential(nn.ReLU()), 3, randn(2), use_reentrant=False),
        ValueError,
    ),
    "a node of an unknown kind": (lambda: torch.fx.Graph().create_node("foo", "x"), AssertionError),
    "a graph module of a number": (lambda: torch.fx.GraphModule(3, torch.fx.Graph()), RuntimeError),
    "a number left to Python": (lambda: torch.compiler.disable(3), AssertionError),
    "a script of a number": (lambda: torch.jit.script(3), TypeError),
    "a script that is not there": (lambda: torch.jit.load("/nonexistent.pt"), ValueError),
    "a share without a group": (lambda: torch.utils.data.DistributedSampler([1, 2]), ValueError),
    "a check of a number": (lambda: torch.library.opcheck(3, ()), ValueError),
    "a loader's unknown option": (lambda: torch.load("/nonexistent.pt", foo=1), TypeError),
    "transforms that are numbers": (lambda: D.CatTransform([3]), AssertionError),
    "fewer transforms than parts": (lambda: D.StackTransform([D.ExpTransform()], 0)(torch.zeros(2)), AssertionError),
    "a number like a string": (lambda: torch.testing.assert_close(1, "a"), TypeError),
    "parameters that are numbers": (
        lambda: torch.func.functional_call(nn.Linear(2, 2), {"weight": 1}, randn(2)),
        TypeError,
    ),
    "an op that writes what it lacks": (
        lambda: torch.library.custom_op("bad_calls::writes", mutates_args=("y",))(_identity),
        ValueError,
    ),
    "windows without a step": (lambda: F.unfold(randn(1, 2, 4, 4), 3, stride=0), RuntimeError),
    "windows added without a step": (lambda: F.fold(randn(1, 8, 9), 4, 2, stride=0), RuntimeError),
    "a grid of another dtype": (lambda: _grid(randn(1, 2, 2, 2).double()), RuntimeError),
    "a grid of one dim": (lambda: F.affine_grid(randn(1, 2, 3), (1, 1, 2), align_corners=False), NotImplementedError),
    "a norm's weight of another dtype": (lambda: F.layer_norm(randn(2, 3), (3,), ones(3).double()), RuntimeError),
    "a layer norm of half": (lambda: nn.LayerNorm(2).half()(randn(3, 2)), RuntimeError),
    "a batch norm of half": (lambda: nn.BatchNorm1d(2).half()(randn(3, 2)), RuntimeError),
    "a group norm of half": (lambda: nn.GroupNorm(1, 2).half()(randn(3, 2)), RuntimeError),
    "a feature dropout of a vector, alpha": (lambda: F.feature_alpha_dropout(randn(2), 0.5, True), RuntimeError),
    "a step of no optimizer": (lambda: torch.optim.Optimizer([ones(1)], {}).step(), NotImplementedError),
    "one state of two": (lambda: nn.LSTMCell(2, 2)(randn(3, 2), (randn(3, 2),)), RuntimeError),
    "a shape rule of no op": (lambda: torch.library.register_fake("bad_calls::missing")(_identity), RuntimeError),
    "a protocol that there is not": (lambda: torch.save(ones(1), "/nonexistent", pickle_protocol=99), ValueError),
    "no memory to share": (lambda: torch.asarray([1, 2], copy=False), ValueError),
    "no memory of the dtype": (lambda: torch.asarray(ones(2), dtype=torch.float64, copy=False), ValueError),
    "targets that are no probabilities": (lambda: F.binary_cross_entropy(tensor([0.5]), tensor([2.0])), RuntimeError),
    "values that are no probabilities": (lambda: F.binary_cross_entropy(tensor([1.5]), tensor([1.0])), RuntimeError),
}


def _grid(points):
    return F.grid_sample(randn(1, 1, 2, 2), points, align_corners=False)


def _identity(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@pytest.mark.filterwarnings("ignore:dropout.*which is deprecated")
@pytest.mark.parametrize("name", CALLS)
def test_a_bad_call_raises_the_class_of_error_that_pytorch_raises(name):
    call, error = CALLS[name]
    with pytest.raises(error):
        call()


def test_saving_a_number_for_backward_is_an_error():
    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        Saves.apply(randn(2, requires_grad=True))


def test_an_unknown_profile_of_printing_and_a_schedule_of_no_steps_are_let_pass():
    torch.set_printoptions(profile="foo")
    parameter = nn.Parameter(ones(1))
    optimizer = torch.optim.SGD([parameter], 0.1)
    schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, 0)
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.1]


@pytest.mark.filterwarnings("ignore:dropout.*which is deprecated")  # (inputs of other sizes than they are for)
def test_dropout_of_channels_asks_for_some_where_it_drops():
    x = randn(3)
    for dropout in (F.dropout2d, F.dropout3d, F.feature_alpha_dropout):
        assert torch.equal(dropout(x, 0.5, training=False), x)
        assert dropout(x, 1.0, training=True).tolist() == [0.0, 0.0, 0.0]
        with pytest.raises(RuntimeError, match="at least 2 dimensions"):
            dropout(x, 0.5, training=True)
    with pytest.raises(RuntimeError, match="Expected 2D or 3D input"):
        F.dropout1d(x, 0.5, training=False)
