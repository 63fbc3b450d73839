"""Names and arguments that model code takes from places of PyTorch."""

import subprocess
import sys
import warnings

import pytest

import weft


def test_gradients_by_only_inputs_and_of_a_dict():
    x, y = weft.ones(2, requires_grad=True), weft.full((2,), 3.0, requires_grad=True)
    z = (x * y).sum()
    assert weft.autograd.grad(z, x, None, True, False, True)[0].tolist() == [3, 3]
    found = weft.autograd.grad(z, {"a": x, "b": y}, retain_graph=True)
    assert {name: g.tolist() for name, g in found.items()} == {"a": [3, 3], "b": [1, 1]}
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        weft.autograd.grad(z, x, only_inputs=False, retain_graph=True)
    z.backward(inputs={"a": x})
    assert x.grad.tolist() == [3, 3] and y.grad is None


def test_a_gradient_penalty_is_one_graph():
    def penalty(x):
        d = (x**3).sum()
        g = weft.autograd.grad(outputs=d, inputs=x, grad_outputs=weft.ones_like(d), create_graph=True, only_inputs=True)[0]
        return (g.norm(2) - 1) ** 2

    x = weft.tensor([0.5, -1.0], requires_grad=True)
    want, got = penalty(x), weft.compile(penalty, fullgraph=True, backend="eager")(x)
    assert got.item() == pytest.approx(want.item())


@pytest.mark.parametrize("dtype", [weft.uint8, weft.int16, weft.int32, weft.int64, weft.float16])
@pytest.mark.parametrize("scan", [weft.cumsum, weft.cumprod])
def test_running_sums_come_in_the_dtype_asked_for(scan, dtype):
    found = scan(weft.tensor([1, 2, 100], dtype=weft.uint8), 0, dtype=dtype)
    assert found.dtype is dtype and found.tolist() == ([1, 3, 103] if scan is weft.cumsum else [1, 2, 200])


def test_a_progress_bar_where_tqdm_is_not_installed(capsys):
    from weft.hub import tqdm

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tqdm(total=4, disable=True) as bar:
            bar.update(2)
    assert bar.n == 2 and list(tqdm([1, 2], disable=True)) == [1, 2]


def test_an_optimizer_written_after_pytorchs_own():
    from weft.optim.optimizer import Optimizer, ParamsT, _default_to_fused_or_foreach, _get_value, _use_grad_for_differentiable

    class Signed(Optimizer):
        def __init__(self, params: ParamsT, lr: float, differentiable: bool = False):
            super().__init__(params, {"lr": lr, "differentiable": differentiable})

        @_use_grad_for_differentiable
        def step(self, closure=None):
            self._cuda_graph_capture_health_check()
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                grads, steps = [p.grad for p in params], [self.state[p].setdefault("step", weft.tensor(0.0)) for p in params]
                assert _default_to_fused_or_foreach(params, False) == (False, False)  # no kernel of lists on the CPU
                groups = self._group_tensors_by_device_and_dtype([params, grads, [], steps], with_indices=True)
                for (device, dtype), ((ps, gs, none, counts), places) in groups.items():
                    assert none == [] and len(ps) == len(places) and all(p.dtype is dtype and p.device == device for p in ps)
                    weft._foreach_add_(counts, 1)
                    rate = group["lr"] / _get_value(counts[0])
                    weft._foreach_add_(ps, weft._foreach_sign(gs), alpha=-rate)

    a, b = weft.ones(2, requires_grad=True), weft.ones(3, dtype=weft.float64, requires_grad=True)
    optimizer = Signed([a, b], 0.5)
    for _ in range(2):
        optimizer.zero_grad()
        (a.sum() - (b * 3).sum()).backward()
        optimizer.step()
    assert a.tolist() == [0.25, 0.25] and b.tolist() == [1.75, 1.75, 1.75] and a.requires_grad


def test_groups_by_device_and_dtype_refuse_lists_of_other_lengths():
    from weft.utils._foreach_utils import _group_tensors_by_device_and_dtype

    with pytest.raises(RuntimeError, match="same number of tensors"):
        _group_tensors_by_device_and_dtype([[weft.ones(1)], [weft.ones(1), weft.ones(1)]])
    with pytest.raises(RuntimeError, match="must not be None"):
        _group_tensors_by_device_and_dtype([[None]])


def test_checkpoint_as_a_function_of_autograd():
    from weft.utils.checkpoint import CheckpointFunction, detach_variable, get_device_states, set_device_states

    calls = []

    def run(x, n, y):
        calls.append(n)
        return (x * y).sin() * weft.rand(3), n

    x, y = weft.randn(3, requires_grad=True), weft.randn(3, requires_grad=True)
    out, n = CheckpointFunction.apply(run, True, x, 2, y)
    out.sum().backward()
    noise = out.detach() / (x * y).sin().detach()
    assert n == 2 and calls == [2, 2] and weft.allclose(x.grad, (y * (x * y).cos() * noise).detach(), rtol=1e-4)
    with pytest.raises(RuntimeError, match="incompatible with .grad"):
        weft.autograd.grad(CheckpointFunction.apply(run, True, x, 2, y)[0].sum(), x)
    with pytest.raises(RuntimeError, match="none of output has requires_grad"):
        CheckpointFunction.apply(lambda x: x.detach(), True, x).sum().backward()
    a, three = detach_variable((x, 3))
    assert a.is_leaf and a.requires_grad and three == 3
    assert get_device_states(x) == ([], []) and set_device_states([], []) is None


def test_results_that_come_later():
    from weft.futures import Future, collect_all, wait_all

    first, seen = Future(), []
    after = first.then(lambda f: f.wait() + 1)
    first.add_done_callback(lambda f: seen.append(f.value()))
    assert not after.done()
    with pytest.raises(RuntimeError, match="not completed"):
        first.value()
    first.set_result(1)
    assert after.wait() == 2 and seen == [1] and wait_all([first, after]) == [1, 2] and collect_all([]).wait() == []
    failing = first.then(lambda f: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        failing.wait()
    with pytest.raises(RuntimeError, match="once"):
        first.set_result(2)


def test_one_process_is_a_mesh_of_one_and_collectives_pass_gradients_on():
    from weft import distributed
    from weft.distributed.device_mesh import init_device_mesh
    from weft.distributed.nn import all_gather, all_reduce

    try:
        mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
        assert mesh.shape == (1, 1) and mesh["model"].shape == (1,) and mesh.get_local_rank("data") == 0
        with pytest.raises(RuntimeError, match="one process"):
            init_device_mesh("cpu", (2,))
        x = weft.ones(2, requires_grad=True)
        (weft.cat(all_gather(x)) * all_reduce(x)).sum().backward()
        assert x.grad.tolist() == [2, 2]
    finally:
        distributed.destroy_process_group()


def test_modules_in_a_checkpoint_keep_their_names_in_files():
    from weft.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing

    model = weft.nn.Sequential(weft.nn.Linear(3, 3), weft.nn.Sequential(weft.nn.Linear(3, 3), weft.nn.Tanh()))
    state, x = model.state_dict(), weft.randn(2, 3)
    want = weft.autograd.grad(model(x).sum(), model[0].weight)[0]
    apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, weft.nn.Linear))
    assert list(model.state_dict()) == list(state) and not model.load_state_dict(state).missing_keys
    assert weft.equal(weft.autograd.grad(model(x).sum(), model[0].weight)[0], want) and model[0].in_features == 3


def test_structures_are_taken_apart_in_the_order_of_another():
    from weft.fx._pytree import tree_flatten_spec

    from weft.utils._pytree import tree_flatten

    _, spec = tree_flatten({"a": [1, 2], "b": (3,)})
    assert tree_flatten_spec({"b": (30,), "a": [10, 20]}, spec) == [10, 20, 30]
    with pytest.raises(RuntimeError, match="Cannot flatten"):
        tree_flatten_spec({"b": (30, 40), "a": [10, 20]}, spec, exact_structural_match=True)


def test_conditions_that_depend_on_data_have_an_answer_beforehand():
    from weft.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true

    @weft.compile(fullgraph=True, backend="eager")
    def f(x):
        n = x.nonzero().shape[0]
        return x + 10 * guard_or_false(n > 3) + guard_or_true(n > 3), guard_or_false(x.shape[0] > 1)

    assert f(weft.ones(5))[0].tolist() == [2] * 5 and f(weft.ones(5))[1]


def test_parts_of_devices_by_name():
    assert weft.get_device_module("cpu") is weft.cpu and weft.get_device_module() is weft.cpu
    assert weft.legacy_contiguous_format is weft.contiguous_format
    queue, point = weft.Stream(), weft.Event("cpu", enable_timing=True)
    assert isinstance(queue, weft.Stream) and isinstance(point, weft.Event) and not isinstance(weft.cpu.Stream(), weft.Stream)
    assert queue == weft.Stream("cpu", priority=1) and queue.device == weft.device("cpu") and queue.query() and point.query()
    with queue as entered:
        assert entered is queue
    for record in (queue.record_event, point.record, lambda: queue.wait_stream(queue)):
        with pytest.raises(RuntimeError, match="doesn't support events"):
            record()
    with pytest.raises(RuntimeError, match="expect torch.device"):
        weft.get_device_module(3)


def test_variables_of_compiled_code():
    @weft.compile(fullgraph=True, backend="eager")
    def f(x):
        return weft.autograd.Variable(weft.zeros(2)) + x + weft.autograd.Variable(x.sin())

    x = weft.ones(2, requires_grad=True)
    f(x).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_parts_that_distributions_of_programs_are_made_of():
    from weft.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
    from weft.distributions.utils import _standard_normal, _sum_rightmost

    factor, x = weft.tensor([[2.0, 0.0], [1.0, 3.0]]), weft.tensor([[1.0, 2.0], [0.0, 1.0]])
    assert _batch_mv(factor, x).tolist() == [[2, 7], [0, 3]]
    want = (x.unsqueeze(1) @ weft.linalg.inv(factor @ factor.mT) @ x.unsqueeze(2)).flatten()
    assert weft.allclose(_batch_mahalanobis(factor, x), want)
    assert _standard_normal((2, 3), weft.float64, "cpu").dtype is weft.float64 and _sum_rightmost(x, 2).item() == 4


def test_contexts_that_decorate():
    from weft.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager, context_decorator
    from weft.utils._device import set_device

    class Counted(_DecoratorContextManager):
        inside = 0

        def __enter__(self):
            Counted.inside += 1

        def __exit__(self, *exc):
            Counted.inside -= 1

    class Bare(Counted, _NoParamDecoratorContextManager):
        pass

    @Counted()
    def steps():
        got = yield Counted.inside
        yield got, Counted.inside

    running = steps()
    assert next(running) == 1 and Counted.inside == 0 and running.send(5) == (5, 1) and Counted.inside == 0
    assert Bare(lambda: Counted.inside)() == 1
    assert set_device("meta")(lambda: weft.ones(2))().device.type == "meta"
    with pytest.raises(RuntimeError, match="ambiguous"):
        context_decorator(Counted(), int)


def test_sets_in_order_and_optimizers_of_lists():
    from weft.optim import _multi_tensor
    from weft.utils._ordered_set import OrderedSet

    s = OrderedSet([3, 1, 3, 2])
    assert list(s) == [3, 1, 2] and list(s | {7}) == [3, 1, 2, 7] and list(s.difference([1])) == [3, 2] and s == {1, 2, 3}
    sgd = _multi_tensor.SGD([weft.ones(1, requires_grad=True)], lr=0.1)
    assert sgd.defaults["foreach"] is True and isinstance(sgd, weft.optim.SGD)


def test_an_optimizer_that_wraps_another_has_schedules():
    class Every(weft.optim.Optimizer):  # as Lookahead is written: its base's __init__ is not called
        def __init__(self, inner):
            self.inner, self.param_groups, self.defaults, self.state = inner, inner.param_groups, inner.defaults, {}

        def step(self, closure=None):
            return self.inner.step(closure)

    inner = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=0.4)
    outer = Every(inner)
    schedule = weft.optim.lr_scheduler.StepLR(outer, 1, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outer.step(), schedule.step()
    assert inner.param_groups[0]["lr"] == 0.2 and schedule.get_last_lr() == [0.2]


def test_limits_of_dtypes_print_and_compare_as_facts():
    info = weft.finfo(weft.float32)
    assert repr(info) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    assert [weft.finfo(d).resolution for d in (weft.float16, weft.bfloat16, weft.float64)] == [1e-3, 1e-2, 1e-15]
    assert info == weft.finfo(weft.float32) != weft.finfo(weft.float64) and len({info, weft.finfo(weft.complex64)}) == 1
    assert repr(weft.iinfo(weft.int64)) == "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)"


def test_closeness_as_it_was_asked_before():
    weft.testing.assert_allclose([1.0, float("nan")], weft.tensor([1.0, float("nan")], dtype=weft.float64))
    with pytest.raises(AssertionError):
        weft.testing.assert_allclose(1.0, 1.1)


def test_programs_reach_the_package_through_the_files_that_import_it():
    assert weft.nn.functional.torch is weft.nn.init.torch is weft.sparse.torch is weft.autograd.torch is weft
    assert weft.utils.data._utils.collate.default_collate is weft.utils.data.default_collate


def test_files_of_helpers_are_attributes_too():
    utils = weft.nn.utils
    assert utils.clip_grad.clip_grad_norm_ is utils.clip_grad_norm_ and utils.fusion.fuse_conv_bn_eval is utils.fuse_conv_bn_eval
    assert utils.convert_parameters.parameters_to_vector is utils.parameters_to_vector


def test_the_switch_of_threads_in_backward_is_kept():
    with weft.autograd.set_multithreading_enabled(False):
        assert not weft.autograd.is_multithreading_enabled()
        (x := weft.ones(2, requires_grad=True)).sum().backward()
    assert weft.autograd.is_multithreading_enabled() and x.grad.tolist() == [1, 1]


def test_the_package_is_reached_through_a_part_however_that_was_imported():
    code = "import weft.autograd.functional, weft.sparse, weft; assert weft.autograd.torch is weft.sparse.torch is weft"
    subprocess.run([sys.executable, "-c", code], check=True)
