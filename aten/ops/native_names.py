"""Ops that PyTorch has under torch.ops.aten alone: what its derivatives and decompositions are made of."""

from aten.op import composite, ops

_HIDDEN = ["hidden"]


@composite("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", tags=_HIDDEN)
def softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax's argument from that of its result."""
    weighted = grad_output * output
    return ops.cast(weighted - output * weighted.sum(dim, keepdim=True), input_dtype)


@composite("_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", tags=_HIDDEN)
def log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of log_softmax's argument from that of its result."""
    return ops.cast(grad_output - output.exp() * grad_output.sum(dim, keepdim=True), input_dtype)


@composite("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", tags=_HIDDEN)
def native_dropout_backward(grad_output, mask, scale):
    """The gradient of dropout's argument: what was kept, scaled."""
    return grad_output * mask * scale


@composite(
    "_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, "
    "float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    tags=_HIDDEN,
)
def batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """(batch_norm in training, mean, 1 / deviation, nothing kept); the running statistics are updated."""
    out, mean, inverse = ops.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return out, mean, inverse, input.new_empty([0])
