"""Ops that torch.ops.aten and torch.ops.prims have beside the public functions."""

import pytest

import weft

A, P, F = weft.ops.aten, weft.ops.prims, weft.nn.functional


def tensor(*sizes, seed=0):
    return weft.randn(sizes, generator=weft.Generator().manual_seed(seed))


def gradient(forward, x, grad):
    x = x.detach().clone().requires_grad_()
    return weft.autograd.grad(forward(x), x, grad)[0]


IMAGE = tensor(2, 3, 6, 8)
BACKWARDS = [  # (forward, backward of the gradient and the input)
    (
        lambda x: F.avg_pool2d(x, 2, 2, 1, True, False),
        lambda g, x: A.avg_pool2d_backward(g, x, [2, 2], [2, 2], [1, 1], True, False, None),
    ),
    (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), A._adaptive_avg_pool2d_backward),
    (lambda x: F.pad(x, (1, 2, 0, 1), "reflect"), lambda g, x: A.reflection_pad2d_backward(g, x, [1, 2, 0, 1])),
    (lambda x: F.pad(x, (1, 2, 0, 1), "replicate"), lambda g, x: A.replication_pad2d_backward(g, x, [1, 2, 0, 1])),
    (
        lambda x: F.max_pool2d(x, 2),
        lambda g, x: A.max_pool2d_with_indices_backward(
            g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, A.max_pool2d_with_indices(x, [2, 2])[1]
        ),
    ),
    (
        lambda x: F.adaptive_max_pool2d(x, (2, 3)),
        lambda g, x: A.adaptive_max_pool2d_backward(g, x, A.adaptive_max_pool2d(x, [2, 3])[1]),
    ),
    (
        lambda x: F.interpolate(x, (7, 9), mode="bilinear"),
        lambda g, x: A.upsample_bilinear2d_backward(g, [7, 9], list(x.shape), False),
    ),
    (lambda x: F.interpolate(x, (7, 9)), lambda g, x: A.upsample_nearest2d_backward(g, [7, 9], list(x.shape))),
    (F.silu, A.silu_backward),
    (F.mish, A.mish_backward),
    (F.gelu, A.gelu_backward),
    (F.hardswish, A.hardswish_backward),
    (weft.sigmoid, lambda g, x: A.sigmoid_backward(g, x.sigmoid())),
    (weft.tanh, lambda g, x: A.tanh_backward(g, x.tanh())),
    (F.elu, lambda g, x: A.elu_backward(g, 1.0, 1.0, 1.0, True, F.elu(x))),
    (F.glu, lambda g, x: A.glu_backward(g, x, -1)),
    (F.relu, lambda g, x: A.threshold_backward(g, x, 0)),
    (F.leaky_relu, lambda g, x: A.leaky_relu_backward(g, x, 0.01, False)),
    (lambda x: F.mse_loss(x, x.detach() * 2), lambda g, x: A.mse_loss_backward(g, x, x * 2, 1)),
    (lambda x: F.huber_loss(x, x.detach() * 2, reduction="sum"), lambda g, x: A.huber_loss_backward(g, x, x * 2, 2, 1.0)),
    (lambda x: weft.softmax(x, -1), lambda g, x: A._softmax_backward_data(g, x.softmax(-1), -1, x.dtype)),
]


@pytest.mark.parametrize("case", range(len(BACKWARDS)))
def test_a_backward_is_the_derivative_of_its_forward(case):
    forward, backward = BACKWARDS[case]
    grad = tensor(*forward(IMAGE).shape, seed=1)
    weft.testing.assert_close(backward(grad, IMAGE), gradient(forward, IMAGE, grad))


def test_backwards_can_be_compiled():
    def f(g, x):
        return A.avg_pool2d_backward(g, x, [2, 2], [2, 2], [0, 0], False, True, None) * 2, A.silu_backward(x, x)

    grad = tensor(2, 3, 3, 4)
    for got, want in zip(weft.compile(f, fullgraph=True)(grad, IMAGE), f(grad, IMAGE)):
        weft.testing.assert_close(got, want)


def test_convolution_has_the_signature_of_pytorch():
    w = tensor(4, 3, 2, 3)
    args = ([2, 1], [1, 0], [1, 1], False, [0, 0], 1)
    weft.testing.assert_close(A.convolution(IMAGE, w, None, *args), F.conv2d(IMAGE, w, None, (2, 1), (1, 0)))
    turned = A.convolution(IMAGE, w.transpose(0, 1), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)
    weft.testing.assert_close(turned, F.conv_transpose2d(IMAGE, w.transpose(0, 1), None, 2, 1, 1))
    grad = tensor(*A.convolution(IMAGE, w, None, *args).shape, seed=2)
    of_input, of_weight, of_bias = A.convolution_backward(grad, IMAGE, w, [4], *args, [True, True, True])
    weft.testing.assert_close(of_input, gradient(lambda x: F.conv2d(x, w, None, (2, 1), (1, 0)), IMAGE, grad))
    weft.testing.assert_close(of_weight, gradient(lambda v: F.conv2d(IMAGE, v, None, (2, 1), (1, 0)), w, grad))
    weft.testing.assert_close(of_bias, grad.sum((0, 2, 3)))
    assert A.convolution_backward(grad, IMAGE, w, None, *args, [False, False, False]) == (None, None, None)


def test_losses_take_the_number_of_their_reduction():
    x, y = tensor(3, 5), tensor(3, 5, seed=1)
    for number, name in enumerate(("none", "mean", "sum")):
        weft.testing.assert_close(A.mse_loss(x, y, number), F.mse_loss(x, y, reduction=name))
        target = weft.tensor([0, 4, 2])
        weft.testing.assert_close(A.nll_loss(x, target, None, number, 4), F.nll_loss(x, target, ignore_index=4, reduction=name))
    loss, total = A.nll_loss_forward(x, target, None, 1, 4)
    assert total.item() == 2 and loss.tolist() == F.nll_loss(x, target, ignore_index=4).tolist()


def test_masked_indices_may_lie_outside():
    x, at = weft.arange(5.0), weft.tensor([0, 9, -7, 3])
    mask = weft.tensor([True, False, False, True])
    assert A._unsafe_masked_index(x, mask, [at], 7.5).tolist() == [0, 7.5, 7.5, 3]
    added = A._unsafe_masked_index_put_accumulate(x, mask, [at], weft.ones(4))
    assert added.tolist() == [1, 1, 2, 4, 4]


def test_prims():
    assert P.iota.default(3, start=1, step=2, dtype=weft.int64, device="cpu", requires_grad=False).tolist() == [1, 3, 5]
    assert P.convert_element_type.default(weft.ones(2), weft.int32).dtype is weft.int32
    values, taps = P._low_memory_max_pool2d_with_offsets(IMAGE, [2, 2], [2, 2], [0, 0], [1, 1], False)
    want, places = F.max_pool2d(IMAGE, 2, return_indices=True)
    assert weft.equal(values, want) and taps.dtype is weft.int8
    assert weft.equal(P._low_memory_max_pool2d_offsets_to_indices(taps, 2, 8, [2, 2], [0, 0]), places)


def test_methods_and_functions_stand_for_ops_without_a_name_of_their_own():
    x = weft.ones(2)
    assert A.new_zeros(x, [3]).tolist() == [0, 0, 0]
    assert A.add_.Tensor(x, 2).tolist() == [3, 3] == x.tolist()


def test_nearest_places_of_twice_the_size_follow_from_the_sizes():
    """Literals: PyTorch 2.13."""
    x = weft.arange(6.0).reshape(1, 1, 1, 6)
    assert F.interpolate(x, scale_factor=(1.0, 2.1)).flatten().tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert F.interpolate(x, scale_factor=(1.0, 1.1)).flatten().tolist() == [0, 1, 2, 3, 4, 5]


def test_arithmetic_of_two_numbers_is_a_tensor():
    """Literals: PyTorch 2.13."""
    assert weft.div(7, 2, rounding_mode="trunc").item() == 3 and weft.div(7, 2).dtype is weft.float32
    assert weft.add(1, 2).dtype is weft.int64 and weft.mul(2, 2.5).item() == 5
    half = weft.compile(lambda x: x + weft.div(x.shape[0], 2, rounding_mode="trunc"), fullgraph=True)
    assert half(weft.ones(7)).tolist() == [4] * 7
    quotient = weft.compile(lambda a, b: A.div(a, b, rounding_mode="floor"), fullgraph=True, dynamic=True)
    assert quotient(1024, 100).item() == 10 and quotient(1030, 100).item() == 10
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        weft.pow(2, 3)


def test_dropout_of_integers_is_refused():
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        F.dropout(weft.ones(3, dtype=weft.int64))
    assert F.dropout(weft.ones(3, dtype=weft.int64), training=False).tolist() == [1, 1, 1]


def test_attributes_of_layers_are_constants_where_sizes_are_symbols():
    weft.compiler.reset()  # (what other tests gave other groups would be a symbol)
    layer = weft.nn.GroupNorm(3, 90)
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    x = tensor(2, 90, 3, 5)
    weft.testing.assert_close(weft.compile(layer, backend=backend, dynamic=True)(x), layer(x))
    assert [sum(n.op == "placeholder" for n in g.graph.nodes) for g in graphs] == [3]  # x, weight and bias


def test_special_lists_its_functions():
    assert {"zeta", "erfcx", "bessel_y1"} <= set(weft.special.__all__)
    assert all(hasattr(weft.special, name) for name in weft.special.__all__)


def test_prims_common():
    from weft._prims_common import check_significant_strides, get_computation_dtype, is_float_dtype, is_integer_dtype

    assert is_integer_dtype(weft.uint8) and not is_integer_dtype(weft.bool) and is_float_dtype(weft.bfloat16)
    assert get_computation_dtype(weft.bfloat16) is weft.float32 and get_computation_dtype(weft.int8) is weft.int8
    x, y = weft.ones(2, 1, 3), weft.ones(3, 1, 2).transpose(0, 2)
    assert check_significant_strides(x, y, only_cuda=False) == (False, 0) and check_significant_strides(x, y) == (True, None)
    assert check_significant_strides(x, x.as_strided((2, 1, 3), (3, 77, 1)), only_cuda=False) == (True, None)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_second_derivative_of_a_convolution(transposed):
    x, w = tensor(2, 4, 5, 5).double().requires_grad_(), tensor(4, 2, 2, 2, seed=1).double().requires_grad_()
    rest = ([1, 1], [0, 0], [1, 1], transposed, [0, 0], 1 if transposed else 2)
    out = A.convolution(x, w, None, *rest)
    g = weft.ones_like(out).requires_grad_()
    firsts = (*weft.autograd.grad(out, (x, w), g, create_graph=True), g.sum((0, 2, 3)))
    seconds = [weft.linspace(-1, 1, f.numel(), dtype=f.dtype).reshape(f.shape) for f in firsts]
    expected = weft.autograd.grad(firsts, (g, x, w), seconds)
    found = A._convolution_double_backward(*seconds, g, w, x, *rest, (True, True, True))
    assert all(weft.allclose(a, b) for a, b in zip(found, expected, strict=True))
    assert A._convolution_double_backward(None, None, None, g, w, x, *rest, (True, True, True)) == (None, None, None)
    if not transposed:
        mapped = weft.vmap(lambda a: A._convolution_double_backward(a, *seconds[1:], g, w, x, *rest, (True, True, True))[0])
        assert weft.allclose(mapped(seconds[0].expand(3, *x.shape))[2], expected[0])


def test_chunks_side_by_side():
    """Answers of PyTorch 2.13."""
    a, b = weft.arange(10.0).reshape(5, 2), weft.arange(100.0, 106.0).reshape(3, 2)
    assert weft._chunk_cat([a, b], 0, 2).tolist() == [
        [0, 1, 2, 3, 4, 5, 100, 101, 102, 103],
        [6, 7, 8, 9, 0, 0, 104, 105, 0, 0],
    ]
    made = weft._chunk_cat([weft.arange(6.0).reshape(2, 3), weft.arange(7.0).expand(2, 7)], 1, 2)
    assert made[1].tolist() == [[3, 4, 0, 1, 2, 3], [5, 0, 4, 5, 6, 0]]
    for args, text in (
        (([], 0, 2), "non-empty input tensor list"),
        (([a], 0, 0), "positive num_chunks"),
        (([a, b.t()], 1, 2), "same sizes of 0,...,dim-1 dimensions"),
        (([a, b.long()], 0, 2), "same dtype"),
    ):
        with pytest.raises(RuntimeError, match=text):
            weft._chunk_cat(*args)


def test_convolutions_by_the_names_of_their_kernels():
    x, w = tensor(1, 2, 5, 5), tensor(4, 2, 3, 3, seed=1)
    assert weft.equal(A.thnn_conv2d(x, w, [3, 3], None, [2, 2], 1), F.conv2d(x, w, None, 2, 1))
    x, w = tensor(1, 2, 4, 4, 4), tensor(4, 2, 2, 2, 2, seed=1)
    assert weft.equal(weft._C._nn.slow_conv3d(x, w, 2), F.conv3d(x, w))
    for keywords, text in (
        ({"kernel_size": []}, "2D kernel_size expected"),
        ({"kernel_size": 1, "stride": []}, "2D stride expected"),
        ({"kernel_size": 1, "padding": [1]}, "2D padding expected"),
    ):
        with pytest.raises(RuntimeError, match=text):
            A.thnn_conv2d(weft.ones(1, 1, 1, 1), weft.ones(1, 1), **keywords)
    for n in (1, 2, 3):
        with pytest.raises(RuntimeError, match=f"padding size is expected to be {2 * n}"):
            getattr(A, f"replication_pad{n}d")(weft.ones(2), padding=[])


def test_grid_sampling_by_numbers_of_modes():
    image, grid = tensor(1, 2, 4, 4), tensor(1, 3, 3, 2, seed=1)
    for mode, number in F.GRID_SAMPLE_INTERPOLATION_MODES.items():
        for padding, edge in F.GRID_SAMPLE_PADDING_MODES.items():
            found = weft._grid_sampler_2d_cpu_fallback(image, grid, number, edge, False)
            assert weft.equal(found, F.grid_sample(image, grid, mode, padding, False))


def test_relu_of_a_sum():
    x, y = weft.tensor([-3.0, 1.0]), weft.tensor([1.0, 2.0])
    assert weft._add_relu(x, y).tolist() == [0, 3] and weft._VF._add_relu(x, 4).tolist() == [1, 5]
    assert weft._add_relu(x, y, alpha=4).tolist() == [1, 9] and A._add_relu_(x, y) is x and x.tolist() == [0, 3]
