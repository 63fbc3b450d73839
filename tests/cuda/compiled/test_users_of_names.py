"""What PyTorch documents of `torch.cuda` and of tensors there, by name, as a program of a user would meet it."""

from __future__ import annotations

import gc
import threading
import warnings

import numpy as np
import pytest

import weft

nn, F = weft.nn, weft.nn.functional


def test_ways_to_get_there(cuda):
    x = weft.arange(4.0)
    ways = [
        x.cuda(),
        x.cuda(0),
        x.cuda("cuda:0"),
        x.cuda(non_blocking=True),
        x.to("cuda"),
        x.to(0),
        x.to(weft.device("cuda", 0)),
        x.to(weft.device(0)),
        x.to(device="cuda", dtype=weft.float32),
        x.to(weft.ones(1, device=cuda)),
        weft.tensor(x.tolist(), device=0),
        weft.arange(4.0, device="cuda:0"),
        weft.as_tensor(x, device="cuda"),
        x.type("torch.cuda.FloatTensor"),
        x.pin_memory().cuda(non_blocking=True),
    ]
    for w in ways:
        assert w.is_cuda and w.device == weft.device("cuda:0") and w.get_device() == 0 and w.tolist() == x.tolist()
    assert ways[0].cuda() is ways[0] and ways[0].to("cuda") is ways[0] and x.get_device() == -1
    assert ways[0].cpu().device.type == "cpu" and x.cpu() is x and ways[0].to("cuda", copy=True) is not ways[0]


def test_types_by_name(cuda):
    x = weft.ones(2, device=cuda)
    assert (
        isinstance(x, weft.cuda.FloatTensor)
        and not isinstance(x.cpu(), weft.cuda.FloatTensor)
        and not isinstance(x, weft.cuda.HalfTensor)
    )
    assert weft.cuda.LongTensor([1, 2]).tolist() == [1, 2] and weft.cuda.LongTensor([1]).is_cuda
    assert x.type() == "torch.cuda.FloatTensor" and x.double().type() == "torch.cuda.DoubleTensor"


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (TypeError, "can't convert cuda:0 device type tensor to numpy", lambda x: x.numpy()),
        (TypeError, "can't convert cuda:0 device type tensor to numpy", lambda x: np.asarray(x)),
        (RuntimeError, "same device", lambda x: x + weft.ones(4)),
        (RuntimeError, "same device", lambda x: weft.cat([x, weft.ones(4)])),
        (RuntimeError, "same device", lambda x: F.linear(x, weft.ones(2, 4))),
        (RuntimeError, "same device", lambda x: x.copy_(weft.ones(4)).add_(weft.ones(4))),
        (RuntimeError, "same device", lambda x: weft.where(x > 0, x, weft.ones(4))),
        (RuntimeError, "indices should be either on cpu or on the same device", lambda x: weft.ones(4)[x.long()]),
        (RuntimeError, "same device", lambda x: nn.Linear(4, 2)(x)),
        (RuntimeError, "same device", lambda x: x @ weft.ones(4)),
        (RuntimeError, "invalid device ordinal", lambda x: x.to("cuda:7")),
        (RuntimeError, "device", lambda x: weft.ones(2, device="cuda:100")),
        (RuntimeError, "generator", lambda x: weft.rand(2, device="cuda", generator=weft.Generator())),
        (RuntimeError, "pin", lambda x: x.pin_memory()),
        (RuntimeError, "a leaf Variable", lambda x: x.requires_grad_().mul_(2)),
        (RuntimeError, "must match the size", lambda x: x + weft.ones(3, device="cuda")),
        (IndexError, "out of range", lambda x: x.sum(2)),
        (IndexError, "out of bounds", lambda x: x[9]),
        (ValueError, "only one element", lambda x: float(x)),
    ],
)
def test_what_is_refused(cuda, error, text, call):
    if error is ValueError:
        error = (ValueError, RuntimeError)
        text = "converted to Scalar|only one element"
    with pytest.raises(error, match=text):
        call(weft.ones(4, device=cuda))
    assert (weft.ones(4, device=cuda) + 1).tolist() == [2.0] * 4


def test_scalars_of_the_host_are_welcome(cuda):
    x = weft.ones(3, device=cuda)
    assert (x + weft.tensor(2.0)).tolist() == [3.0] * 3 and (weft.tensor(2) * x).device == cuda
    assert x.add_(weft.tensor(1.0)).tolist() == [2.0] * 3 and x[weft.tensor([0])].tolist() == [2.0]
    assert weft.where(x > 0, x, 0.0).tolist() == [2.0] * 3 and (x * np.float64(2)).dtype is weft.float32


def test_events_and_streams(cuda):
    start, end = weft.cuda.Event(enable_timing=True), weft.cuda.Event(enable_timing=True)
    side = weft.cuda.Stream(priority=-1)
    with weft.cuda.stream(side):
        assert weft.cuda.current_stream() == side
        start.record()
        x = weft.ones(100, device=cuda) * 2
        end.record(side)
    done = side.record_event()
    weft.cuda.current_stream().wait_event(done)
    x.record_stream(weft.cuda.current_stream())
    y = x + 1
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 0 and y.sum().item() == 300 and side.query()
    side.synchronize()
    assert weft.cuda.current_stream() == weft.cuda.default_stream() and hash(side) == hash(
        weft.cuda.Stream(stream_id=side.stream_id, device_index=side.device_index, device_type=side.device_type)
    )
    with pytest.raises((ValueError, RuntimeError), match="timing|recorded"):
        weft.cuda.Event().elapsed_time(end)
    with weft.cuda.stream(None):
        pass
    assert "cuda" in repr(side).lower() and "Event" in repr(start)


def test_streams_of_any_device(cuda):
    stream = weft.Stream(device="cuda")
    event = weft.Event(device="cuda", enable_timing=False)
    with stream:
        x = weft.ones(4, device=cuda) + 1
        event.record()
    event.wait()
    weft.cuda.current_stream().wait_stream(stream)
    assert x.tolist() == [2.0] * 4 and stream.device.type == "cuda"
    assert (
        weft.accelerator.is_available()
        and weft.accelerator.current_accelerator().type == "cuda"
        and weft.accelerator.device_count() >= 1
    )
    weft.accelerator.synchronize()
    assert weft.accelerator.current_device_index() == 0 and weft.accelerator.current_stream() == weft.cuda.current_stream()


def test_devices_of_a_block(second):
    assert weft.cuda.device_count() == 2 and weft.cuda.current_device() == 0
    with weft.cuda.device(1):
        assert (
            weft.cuda.current_device() == 1
            and weft.ones(2, device="cuda").device == second
            and weft.ones(2).cuda().device == second
        )
        with weft.cuda.device("cuda:0"):
            assert weft.cuda.current_device() == 0
    x = weft.ones(2, device=second)
    with weft.cuda.device_of(x):
        assert weft.cuda.current_device() == 1
    with weft.cuda.device_of(weft.ones(1)):
        assert weft.cuda.current_device() == 0
    with pytest.raises(RuntimeError, match="same device"):
        x + weft.ones(2, device="cuda:0")
    assert (x + x.to("cuda:0").to(second)).tolist() == [2.0, 2.0]
    weft.cuda.set_device(1)
    try:
        assert weft.cuda.current_device() == 1
        seen = []
        thread = threading.Thread(target=lambda: seen.append(weft.cuda.current_device()))
        thread.start()
        thread.join()
        assert seen == [0]
    finally:
        weft.cuda.set_device(0)
    with pytest.raises(RuntimeError):
        weft.cuda.set_device(5)
    assert weft.cuda.can_device_access_peer(0, 1) in (True, False)


def test_what_a_device_says_of_itself(cuda):
    p = weft.cuda.get_device_properties(0)
    assert p.name == weft.cuda.get_device_name() and (p.major, p.minor) == weft.cuda.get_device_capability("cuda:0")
    assert p.total_memory == weft.cuda.mem_get_info()[1] and p.multi_processor_count > 0 and p.warp_size == 32
    assert p.max_threads_per_multi_processor > 0 and p.shared_memory_per_block > 0 and "name" in repr(p)
    assert (
        weft.cuda.is_initialized()
        and isinstance(weft.cuda.is_bf16_supported(), bool)
        and isinstance(weft.cuda.get_arch_list(), list)
    )
    assert weft.version.cuda is None or isinstance(weft.version.cuda, str)
    assert weft.backends.cuda.is_built() in (True, False) and isinstance(weft.backends.cudnn.is_available(), bool)
    with pytest.raises((AssertionError, RuntimeError), match="device"):
        weft.cuda.get_device_properties(9)


def test_switches_of_products(cuda):
    before = weft.backends.cuda.matmul.allow_tf32
    weft.backends.cuda.matmul.allow_tf32 = True
    assert weft.get_float32_matmul_precision() in ("high", "medium")
    weft.backends.cuda.matmul.allow_tf32 = before
    weft.backends.cudnn.benchmark, was = True, weft.backends.cudnn.benchmark
    weft.backends.cudnn.benchmark = was
    with weft.backends.cudnn.flags(enabled=False):
        pass
    with weft.nn.attention.sdpa_kernel(weft.nn.attention.SDPBackend.MATH):
        q = weft.ones(1, 2, 3, 4, device=cuda)
        assert F.scaled_dot_product_attention(q, q, q).tolist() == q.tolist()


def test_figures(sim, cuda):
    gc.collect()
    weft.cuda.empty_cache()
    weft.cuda.reset_peak_memory_stats()
    before = weft.cuda.memory_allocated()
    x = weft.empty(1 << 20, dtype=weft.uint8, device=cuda)
    assert weft.cuda.memory_allocated(cuda) - before == 1 << 20 and weft.cuda.max_memory_allocated() >= before + (1 << 20)
    assert (
        weft.cuda.memory_reserved() >= weft.cuda.memory_allocated()
        and weft.cuda.max_memory_reserved("cuda:0") >= weft.cuda.memory_reserved()
    )
    stats = weft.cuda.memory_stats()
    for key in (
        "allocated_bytes.all.current",
        "allocated_bytes.all.peak",
        "reserved_bytes.all.current",
        "allocation.all.allocated",
        "active.all.current",
        "num_alloc_retries",
        "num_ooms",
        "inactive_split_bytes.all.current",
        "segment.all.current",
    ):
        assert isinstance(stats[key], int)
    assert stats["allocated_bytes.all.current"] == weft.cuda.memory_allocated()
    del x
    assert weft.cuda.memory_allocated() == before
    text = weft.cuda.memory_summary(abbreviated=True)
    assert "Allocated memory" in text and "GPU" in text
    assert weft.cuda.memory.memory_allocated() == before and weft.cuda.memory_snapshot() is not None
    free, total = weft.cuda.mem_get_info()
    assert 0 < free <= total


def test_out_of_memory(sim, cuda):
    assert weft.cuda.OutOfMemoryError is weft.OutOfMemoryError and issubclass(weft.OutOfMemoryError, RuntimeError)
    x = weft.ones(10, device=cuda)
    _, total = weft.cuda.mem_get_info()
    with pytest.raises(weft.OutOfMemoryError, match="CUDA out of memory. Tried to allocate"):
        weft.empty(2 * total, dtype=weft.uint8, device=cuda)
    assert weft.cuda.memory_stats()["num_ooms"] >= 1 and (x + 1).sum().item() == 20


def test_generators(cuda):
    weft.cuda.manual_seed(3)
    assert weft.cuda.initial_seed() == 3
    state = weft.cuda.get_rng_state()
    a = weft.rand(4, device=cuda)
    weft.cuda.set_rng_state(state)
    assert weft.rand(4, device=cuda).tolist() == a.tolist()
    g = weft.Generator(device="cuda")
    assert g.device.type == "cuda" and g.manual_seed(3) is g
    assert weft.rand(4, device=cuda, generator=g).tolist() == weft.rand(4, generator=weft.Generator().manual_seed(3)).tolist()
    again = g.clone_state()
    assert weft.randn(3, device=cuda, generator=again).tolist() == weft.randn(3, device=cuda, generator=g).tolist()
    with weft.random.fork_rng(devices=[0]):
        weft.rand(3, device=cuda)
    weft.cuda.manual_seed_all(4)
    assert (
        len(weft.cuda.get_rng_state_all()) == weft.cuda.device_count()
        and len(weft.cuda.default_generators) == weft.cuda.device_count()
    )


def test_older_names_of_mixed_precision(cuda):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with weft.cuda.amp.autocast():
            y = weft.ones(2, 2, device=cuda) @ weft.ones(2, 2, device=cuda)
        scaler = weft.cuda.amp.GradScaler(init_scale=8.0)
    assert y.dtype is weft.float16 and scaler.get_scale() == 8.0 and scaler.is_enabled()

    class Twice(weft.autograd.Function):
        @staticmethod
        @weft.amp.custom_fwd(device_type="cuda", cast_inputs=weft.float32)
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @weft.amp.custom_bwd(device_type="cuda")
        def backward(ctx, g):
            return g * 2

    with weft.autocast("cuda"):
        x = weft.ones(2, dtype=weft.float16, device=cuda, requires_grad=True)
        out = Twice.apply(x)
    out.sum().backward()
    assert out.dtype is weft.float32 and x.grad.tolist() == [2.0, 2.0] and weft.is_autocast_enabled("cuda") is False


def test_ranges_for_profilers(cuda):
    weft.cuda.nvtx.range_push("a")
    weft.cuda.nvtx.mark("b")
    weft.cuda.nvtx.range_pop()
    with weft.cuda.nvtx.range("c"):
        pass
    with weft.profiler.profile(activities=[weft.profiler.ProfilerActivity.CPU, weft.profiler.ProfilerActivity.CUDA]) as prof:
        weft.ones(3, device=cuda) + 1
    assert prof.key_averages() is not None


def test_the_array_interface_and_dlpack(cuda):
    x = weft.arange(6.0, device=cuda).reshape(2, 3)
    face = x.T.__cuda_array_interface__
    assert face["version"] >= 2 and face["shape"] == (3, 2) and face["typestr"] == "<f4" and face["strides"] == (4, 12)
    with pytest.raises(AttributeError):
        _ = x.cpu().__cuda_array_interface__
    with pytest.raises(RuntimeError, match="grad"):
        _ = x.clone().requires_grad_().__cuda_array_interface__
    y = weft.from_dlpack(x)
    y.add_(1)
    assert (
        x[0, 0].item() == 1
        and x.__dlpack_device__() == (2, 0)
        and weft.utils.dlpack.from_dlpack(weft.utils.dlpack.to_dlpack(x)).data_ptr() == x.data_ptr()
    )


def test_pinned_memory(cuda):
    x = weft.ones(5).pin_memory()
    assert (
        x.is_pinned() and not weft.ones(5).is_pinned() and not x.cuda().is_pinned() and weft.empty(3, pin_memory=True).is_pinned()
    )
    back = weft.empty(5, pin_memory=True)
    back.copy_(x.cuda(non_blocking=True) * 3, non_blocking=True)
    weft.cuda.synchronize()
    assert back.tolist() == [3.0] * 5 and weft.zeros(2, pin_memory=True).is_pinned()


def test_storages_on_a_device(cuda):
    x = weft.arange(6.0, device=cuda)
    s = x.untyped_storage()
    assert (
        s.device == cuda
        and s.nbytes() == 24
        and s.data_ptr() == x.data_ptr()
        and x[2:].untyped_storage().data_ptr() == s.data_ptr()
    )
    assert s.cpu().device.type == "cpu" and len(s) == 24
    y = weft.empty(0, device=cuda).set_(s, 1, (2, 2), (2, 1))
    assert y.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_captured_training(cuda):
    def make():
        weft.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        return net

    def train(net, d, graphed):
        optimizer = weft.optim.Adam(net.parameters(), 0.05, capturable=d != "cpu")
        x, y = weft.zeros(6, 4, device=d), weft.zeros(6, 1, device=d)

        def step():
            optimizer.zero_grad(set_to_none=False)
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        batches = [(weft.linspace(-1, 1 + k, 24).reshape(6, 4), weft.linspace(0, 1, 6).reshape(6, 1)) for k in range(4)]
        losses, graph = [], None
        for k, (a, b) in enumerate(batches):
            x.copy_(a)
            y.copy_(b)
            if not graphed or k < 2:
                losses.append(step().item())
                continue
            if graph is None:
                graph = weft.cuda.CUDAGraph()
                with weft.cuda.graph(graph):
                    loss = step()
            graph.replay()
            losses.append(loss.item())
        return losses

    net = make()
    want = train(net, "cpu", False)
    moved = make().cuda()
    got = train(moved, "cuda", True)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    for p, q in zip(net.parameters(), moved.parameters()):
        weft.testing.assert_close(q.cpu(), p, rtol=1e-4, atol=1e-5)


def test_what_the_host_would_do_is_not_captured(cuda):
    a = weft.eye(3, device=cuda)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weft.linalg.cholesky(a)
    graph = weft.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="cholesky.*cannot be captured in a CUDA graph"), weft.cuda.graph(graph):
        weft.linalg.cholesky(a)
    with weft.cuda.graph(weft.cuda.CUDAGraph()):
        pass
    assert weft.linalg.cholesky(a).tolist() == a.tolist()
