"""Derivatives of activations and losses that PyTorch has as ops of their own under torch.ops.aten, and losses whose reduction
is a number there. A row each: the op, and what it takes beside the tensors."""

from typing import Any

from aten.op import composite, ops
from aten.ops.native_backward import REDUCTIONS, pulled_back
from aten.shapes import product

_HIDDEN = ["hidden"]


# ------------------------------------------------------------------------------------------------------- activations
def _of_input(name: str, parameters: str = "", forward: str | None = None) -> None:
    @composite(f"{name}_backward(Tensor grad_output, Tensor input{parameters}) -> Tensor", tags=_HIDDEN)
    def definition(grad_output, input, *rest):
        """The gradient of an activation's argument."""
        return pulled_back(grad_output, input, lambda x: getattr(ops, forward or name)(x, *rest))


_of_input("silu")
_of_input("mish")
_of_input("hardswish")
_of_input("hardsigmoid")
_of_input("hardtanh", ", Scalar min_val, Scalar max_val")
_of_input("softshrink", ", Scalar lambd")
_of_input("hardshrink", ", Scalar lambd")
_of_input("softplus", ", Scalar beta, Scalar threshold")
_of_input("logit", ", float? eps=None")
_of_input("glu", ", int dim")


@composite("gelu_backward(Tensor grad_output, Tensor input, *, str approximate='none') -> Tensor", tags=_HIDDEN)
def gelu_backward(grad_output, input, approximate):
    """Of gelu, from its argument."""
    return pulled_back(grad_output, input, lambda x: ops.gelu(x, approximate=approximate))


@composite("threshold_backward(Tensor grad_output, Tensor input, Scalar threshold) -> Tensor", tags=_HIDDEN)
def threshold_backward(grad_output, input, threshold):
    """The gradient where the input lies above the threshold, else 0."""
    return ops.where(input <= threshold, 0, grad_output)


@composite("sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", tags=_HIDDEN)
def sigmoid_backward(grad_output, output):
    """Of sigmoid, from its result."""
    return grad_output * (1 - output) * output


@composite("tanh_backward(Tensor grad_output, Tensor output) -> Tensor", tags=_HIDDEN)
def tanh_backward(grad_output, output):
    """Of tanh, from its result."""
    return grad_output * (1 - output * output)


@composite("_add_relu(Tensor input, NumberOrTensor other, *, Scalar alpha=1) -> Tensor", tags=_HIDDEN, inplace=True)
def add_relu(input, other, alpha):
    """relu(input + alpha * other)."""
    return ops.relu(ops.add(input, other, alpha=alpha))


@composite(
    "leaky_relu_backward(Tensor grad_output, Tensor input, Scalar negative_slope, bool self_is_result) -> Tensor", tags=_HIDDEN
)
def leaky_relu_backward(grad_output, input, negative_slope, self_is_result):
    """Of leaky_relu, from its argument or its result, which have one sign."""
    return ops.where(input > 0, grad_output, grad_output * negative_slope)


@composite(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) "
    "-> Tensor",
    tags=_HIDDEN,
)
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    """Of scale * elu(x, alpha, input_scale), from its argument or its result."""
    x = self_or_result
    below = input_scale * (x + alpha * scale) if is_result else input_scale * alpha * scale * (x * input_scale).exp()
    return ops.where(x <= 0, grad_output * below, grad_output * scale)


@composite("log_sigmoid_forward(Tensor input) -> Tensor[]", tags=_HIDDEN)
def log_sigmoid_forward(input):
    """(logsigmoid, nothing kept)."""
    return ops.logsigmoid(input), input.new_empty([0])


@composite("log_sigmoid_backward(Tensor grad_output, Tensor input, Tensor buffer) -> Tensor", tags=_HIDDEN)
def log_sigmoid_backward(grad_output, input, buffer):
    """Of logsigmoid, from its argument."""
    return pulled_back(grad_output, input, ops.logsigmoid)


# ------------------------------------------------------------------------------------------------------------ losses
def _of_loss(name: str, before: str = "", after: str = "", own: str | None = None) -> None:
    """A loss (input, target, *before, reduction, *after), and where it has one its gradient."""
    first = before.count(",")
    given = own or name

    def run(input: Any, target: Any, rest: tuple[Any, ...]) -> Any:
        named = [p.split("=")[0].split()[-1] for p in (before + after).split(",")[1:]]
        values = rest[:first] + rest[first + 1 :]
        return getattr(ops, given)(input, target, reduction=REDUCTIONS[rest[first]], **dict(zip(named, values)))

    @composite(f"native_{name}(Tensor input, Tensor target{before}, int reduction=1{after}) -> Tensor", tags=_HIDDEN)
    def definition(input, target, *rest):
        """The loss, with the number of its reduction."""
        return run(input, target, rest)

    @composite(
        f"{name}_backward(Tensor grad_output, Tensor input, Tensor target{before}, int reduction=1{after}) -> Tensor", tags=_HIDDEN
    )
    def backward(grad_output, input, target, *rest):
        """The gradient of the loss's input."""
        sizes = list(ops.broadcast_tensors(input, target)[0].shape)
        grad = grad_output / product(sizes) if rest[first] == 1 else grad_output
        each = (*rest[:first], 0, *rest[first + 1 :])
        return pulled_back(ops.expand(grad, sizes), input, lambda x: run(x, target, each))


NATIVE_LOSSES = {}
for _name, _before, _after in (
    ("mse_loss", "", ""),
    ("l1_loss", "", ""),
    ("smooth_l1_loss", "", ", float beta=1.0"),
    ("huber_loss", "", ", float delta=1.0"),
    ("soft_margin_loss", "", ""),
    ("kl_div", "", ", bool log_target=False"),
    ("binary_cross_entropy", ", Tensor? weight=None", ""),
    ("binary_cross_entropy_with_logits", ", Tensor? weight=None, Tensor? pos_weight=None", ""),
):
    _of_loss(_name, _before, _after)
    NATIVE_LOSSES[_name] = f"native_{_name}"


@composite(
    "native_nll_loss(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor",
    tags=_HIDDEN,
)
def native_nll_loss(input, target, weight, reduction, ignore_index):
    """nll_loss, with the number of its reduction."""
    return ops.nll_loss(input, target, weight, None, ignore_index, None, REDUCTIONS[reduction])


@composite(
    "cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, "
    "float label_smoothing=0.0) -> Tensor",
    tags=_HIDDEN,
)
def cross_entropy_loss(input, target, weight, reduction, ignore_index, label_smoothing):
    """cross_entropy, with the number of its reduction."""
    return ops.cross_entropy(input, target, weight, None, ignore_index, None, REDUCTIONS[reduction], label_smoothing)


NATIVE_LOSSES |= {"nll_loss": "native_nll_loss", "nll_loss_nd": "native_nll_loss"}
