"""Ops that PyTorch has under torch.ops.aten alone: what its derivatives and decompositions are made of."""

from typing import Any

from aten import _native
from aten.dtype import bool as bool_
from aten.dtype import int8, int64, uint8
from aten.op import composite, ops
from aten.shapes import product

_HIDDEN = ["hidden"]


@composite(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    tags=_HIDDEN,
    compute="float32",
)
def softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax's argument from that of its result."""
    weighted = grad_output * output
    return ops.cast(weighted - output * weighted.sum(dim, keepdim=True), input_dtype)


@composite(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    tags=_HIDDEN,
    compute="float32",
)
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
    return out, mean, inverse, input.new_empty([0], dtype=uint8)


@composite("_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Any[*] rest) -> Any", tags=["function_only"])
def native_batch_norm_legit(input, weight, bias, rest):
    """`native_batch_norm`; without the two running statistics it is always of the batch's own."""
    if len(rest) == 3:
        return ops.native_batch_norm(input, weight, bias, None, None, *rest)
    return ops.native_batch_norm(input, weight, bias, *rest)


def _adaptive_mean(n: int) -> None:
    @composite(f"_adaptive_avg_pool{n}d(Tensor input, Any output_size) -> Tensor", tags=_HIDDEN)
    def definition(input, output_size):
        """`adaptive_avg_pool` of n dims."""
        return getattr(ops, f"adaptive_avg_pool{n}d")(input, output_size)


for _n in (2, 3):
    _adaptive_mean(_n)


@composite(
    "native_embedding(Tensor weight, LongTensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) "
    "-> Tensor",
    tags=_HIDDEN,
)
def native_embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    """`embedding` with PyTorch's own arguments: -1 is no padding."""
    if scale_grad_by_freq or sparse:
        raise NotImplementedError("embedding: scale_grad_by_freq and sparse gradients")
    return ops.embedding(weight, indices, padding_idx=None if padding_idx < 0 else padding_idx)


@composite("native_elu(Tensor input, float alpha=1.0, float scale=1.0, float input_scale=1.0) -> Tensor", tags=_HIDDEN)
def native_elu(input, alpha, scale, input_scale):
    """scale * x, or scale * alpha * (exp(input_scale * x) - 1) below 0."""
    return ops.elu_core(input, alpha, scale, input_scale)


@composite("_unsafe_view(Tensor input, int[] size) -> Tensor", tags=_HIDDEN)
def unsafe_view(input, size):
    """`reshape`: whether the memory is shared is not promised."""
    return ops.reshape(input, size)


@composite("_to_copy(Tensor input, *, Any dtype=None, Any layout=None, Any device=None, Any pin_memory=None, "
           "bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor", tags=_HIDDEN)  # fmt: skip
def to_copy(input, dtype, layout, device, pin_memory, non_blocking, memory_format):
    """`to` that always copies."""
    return input.to(device=device or input.device, dtype=dtype or input.dtype, copy=True)


@composite("_pin_memory(Tensor input, Any device=None) -> Tensor", tags=_HIDDEN)
def pin_memory(input, device):
    """`Tensor.pin_memory`."""
    return input.pin_memory(device)


@composite("_unsafe_index(Tensor input, Any indices) -> Tensor", tags=_HIDDEN)
def unsafe_index(input, indices):
    """`index`; the caller promises that the indices lie inside."""
    return ops.index(input, list(indices))


@composite("_unsafe_index_put(Tensor input, Any indices, Tensor values, bool accumulate=False) -> Tensor", tags=_HIDDEN)
def unsafe_index_put(input, indices, values, accumulate):
    """`index_put`; the caller promises that the indices lie inside."""
    return ops.index_put(input, list(indices), values, accumulate)


def _inside(input: Any, indices: Any) -> list[Any]:
    """Indices moved to the nearest place that there is, for elements that a mask leaves out."""
    return [i if i is None else i.clamp(0, size - 1) for i, size in zip(indices, input.shape)]


@composite("_unsafe_masked_index(Tensor input, Tensor mask, Any indices, Scalar fill) -> Tensor", tags=_HIDDEN)
def unsafe_masked_index(input, mask, indices, fill):
    """`index` where the mask is true, else `fill`: indices may lie outside there."""
    return ops.where(mask, ops.index(input, _inside(input, indices)), fill)


@composite("_unsafe_masked_index_put_accumulate(Tensor input, Tensor mask, Any indices, Tensor values) -> Tensor", tags=_HIDDEN)
def unsafe_masked_index_put_accumulate(input, mask, indices, values):
    """`index_put` that adds, of the values where the mask is true."""
    return ops.index_put(input, _inside(input, indices), ops.where(mask, values, ops.zeros_like(values)), True)


@composite("convert_element_type(Tensor input, ScalarType dtype) -> Tensor", tags=_HIDDEN)
def convert_element_type(input, dtype):
    """torch.ops.prims: the tensor in another dtype."""
    return ops.clone(input) if input.dtype is dtype else ops.cast(input, dtype)


@composite("fma(Tensor a, Tensor b, Tensor c) -> Tensor", tags=_HIDDEN)
def fma(a, b, c):
    """torch.ops.prims: a * b + c."""
    return a * b + c


@composite(
    "iota(int length, *, int start, int step, ScalarType dtype, Any device=None, bool requires_grad=False) -> Tensor",
    tags=_HIDDEN,
)
def iota(length, start, step, dtype, device, requires_grad):
    """torch.ops.prims: `length` numbers from `start` on, `step` apart."""
    made = (ops.arange(length, device=device) * step + start).to(dtype)
    return made.requires_grad_() if requires_grad else made


@composite(
    "_low_memory_max_pool2d_with_offsets(Tensor input, Any kernel_size, Any stride, Any padding, Any dilation, bool ceil_mode) "
    "-> Tensor[]",
    tags=_HIDDEN,
)
def low_memory_pool(input, kernel_size, stride, padding, dilation, ceil_mode):
    """torch.ops.prims: largest elements of windows, and which tap of the window each is (int8)."""
    values, at = ops.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)
    width, (rows, columns) = input.shape[-1], _origins(values.shape, stride, padding)
    taps = (ops.floor_divide(at, width) - rows) * kernel_size[1] + (at % width - columns)
    return values, taps.to(int8)


@composite(
    "_low_memory_max_pool2d_offsets_to_indices(Tensor offsets, Any kernel_width, Any input_width, Any stride, Any padding) "
    "-> Tensor",
    tags=_HIDDEN,
)
def taps_to_places(offsets, kernel_width, input_width, stride, padding):
    """torch.ops.prims: the taps as places in the flattened image."""
    taps, (rows, columns) = offsets.to(int64), _origins(offsets.shape, stride, padding)
    return (rows + ops.floor_divide(taps, kernel_width)) * input_width + columns + taps % kernel_width


def _origins(sizes: Any, stride: Any, padding: Any) -> tuple[Any, Any]:
    """(row, column) of the image where each window of a result begins."""
    rows = ops.arange(sizes[-2]).unsqueeze(1) * stride[0] - padding[0]
    return rows, ops.arange(sizes[-1]) * stride[1] - padding[1]


def _softmax(name: str) -> None:
    @composite(f"_{name}(Tensor input, int dim, bool half_to_float) -> Tensor", tags=_HIDDEN)
    def definition(input, dim, half_to_float):
        """A softmax; of halves in float32 if half_to_float."""
        return getattr(ops, name)(input.float() if half_to_float else input, dim)


_softmax("softmax")
_softmax("log_softmax")


@composite("lift_fresh_copy(Tensor input) -> Tensor", tags=_HIDDEN)
def lift_fresh_copy(input):
    """A constant, copied."""
    return ops.clone(input)


@composite("lift_fresh(Tensor input) -> Tensor", tags=_HIDDEN)
def lift_fresh(input):
    """A constant."""
    return input


@composite("resize(Tensor input, int[] size, *, MemoryFormat? memory_format=None) -> Tensor", tags=_HIDDEN)
def resize(input, size, memory_format):
    """A copy of these sizes: elements in order, what is new undefined (0)."""
    count = product(size)
    flat = input.reshape([-1])
    if count > flat.shape[0]:
        flat = ops.constant_pad_nd(flat, [0, count - flat.shape[0]], 0)
    return ops.clone(ops.narrow(flat, 0, 0, count)).reshape(list(size))


@composite("resize_as(Tensor input, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor", tags=_HIDDEN)
def resize_as(input, the_template, memory_format):
    """`resize` to the sizes of another tensor."""
    return resize(input, list(the_template.shape), memory_format=memory_format)


@composite("native_dropout(Tensor input, float p, bool? train) -> Tensor[]", tags=["hidden", "random"])
def native_dropout(input, p, train):
    """(dropout, what was kept)."""
    if train is False:
        return ops.clone(input), ops.ones_like(input, dtype=bool_)
    kept = ops.dropout(ops.ones_like(input), p, True)
    return input * kept, kept != 0


@composite("embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, "
           "bool scale_grad_by_freq) -> Tensor", tags=_HIDDEN)  # fmt: skip
def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    """The gradient of an embedding's rows."""
    at, grad = indices.reshape([-1]), grad_output.reshape([-1, grad_output.shape[-1]])
    if scale_grad_by_freq:
        often = ops.index_add(grad.new_zeros([num_weights]), 0, at, ops.ones_like(at, dtype=grad.dtype))
        grad = grad / ops.index_select(often, 0, at).unsqueeze(1)
    if padding_idx >= 0:
        grad = ops.where((at == padding_idx).unsqueeze(1), 0, grad)
    return ops.index_add(grad.new_zeros([num_weights, grad.shape[1]]), 0, at, grad)


@composite("select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor", tags=_HIDDEN)
def select_backward(grad_output, input_sizes, dim, index):
    """Zeros, and the gradient at one place."""
    return ops.select_scatter(grad_output.new_zeros(list(input_sizes)), grad_output, dim, index)


@composite("slice_backward(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step) -> Tensor", tags=_HIDDEN)
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    """Zeros, and the gradient where the slice was."""
    return ops.slice_scatter(grad_output.new_zeros(list(input_sizes)), grad_output, dim, start, end, step)


@composite("sym_size(Tensor input, int? dim=None) -> Any", tags=_HIDDEN)
def sym_size(input, dim):
    """The sizes, or one of them."""
    return input.shape if dim is None else input.shape[dim]


@composite("sym_numel(Tensor input) -> Any", tags=_HIDDEN)
def sym_numel(input):
    """The number of elements."""
    return input.numel()


@composite("sym_stride(Tensor input, int? dim=None) -> Any", tags=_HIDDEN)
def sym_stride(input, dim):
    """The strides, or one of them."""
    return input.stride() if dim is None else input.stride()[dim]


@composite("_new_zeros_with_same_feature_meta(Tensor input, Tensor other, *, int self_num_batch_dims=0) -> Tensor", tags=_HIDDEN)
def new_zeros_with_same_feature_meta(input, other, self_num_batch_dims):
    """Zeros in memory laid out as all of `other`'s is, behind the first dims of `input`: a tangent for `other`."""
    if _native.is_tracer(other):  # of its memory what it shows
        behind = other.storage_offset() + sum([(n - 1) * s for n, s in zip(other.shape, other.stride())], 1)
    else:
        behind = other.untyped_storage().nbytes() // other.itemsize
    batch = list(input.shape[:self_num_batch_dims])
    strides = [behind * product(batch[i + 1 :]) for i in range(len(batch))]
    memory = ops.zeros([product(batch) * behind], dtype=other.dtype, device=other.device)
    return ops.as_strided(memory, [*batch, *other.shape], [*strides, *other.stride()], other.storage_offset())


@composite(
    "_grid_sampler_2d_cpu_fallback(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) "
    "-> Tensor",
    tags=_HIDDEN,
)
def grid_sampler_fallback(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler` of images."""
    return ops.grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)
