"""nn.utils: parametrizations, norms of weights, pruning, fused layers, clipping, calls with other parameters.

Expected numbers were read off PyTorch 2.13 on the same values.
"""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import weft as torch
from weft import nn
from weft.nn.utils import parametrizations, parametrize, prune


def values(*shape):
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(count, dtype=torch.float32) * 0.37).sin().reshape(shape)


@pytest.fixture
def layer():
    made = nn.Linear(3, 4)
    made.load_state_dict({"weight": values(4, 3), "bias": values(4)})
    return made


class Double(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


class Halves(nn.Module):
    def forward(self, a, b):
        return a + b

    def right_inverse(self, x):
        return x / 2, x / 2


def test_a_parametrization_computes_assigns_and_goes(layer):
    x, weight = values(2, 3), layer.weight
    plain = layer(x)
    parametrize.register_parametrization(layer, "weight", Double())
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(layer, "bias")
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert layer.parametrizations.weight.original is weight and torch.equal(layer(x), plain)
    layer.weight = torch.ones(4, 3)
    assert (weight == 0.5).all() and (layer.weight == 1).all()
    parametrize.register_parametrization(layer, "weight", Double())
    other = copy.deepcopy(layer)
    assert (layer.weight == 2).all()
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is weight and (weight == 2).all()
    assert parametrize.is_parametrized(other) and (other.weight == 2).all()
    parametrize.remove_parametrizations(other, "weight", leave_parametrized=False)
    assert (other.weight == 0.5).all()


def test_a_parametrization_by_several_tensors(layer):
    weight = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Halves())
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert torch.equal(layer.weight, weight)
    target = parametrize.transfer_parametrizations_and_params(layer, nn.Linear(3, 4))
    assert torch.equal(target.weight, weight)
    with pytest.raises(ValueError, match="in terms of a sequence of tensors"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and torch.equal(layer.weight, weight)


def test_parametrizations_that_do_not_fit_are_refused(layer):
    class Sum(nn.Module):
        def forward(self, x):
            return x.sum()

    for problem, make in (
        ("may not change the shape", lambda: parametrize.register_parametrization(layer, "weight", Sum())),
        ("does not have a parameter, a buffer, or", lambda: parametrize.register_parametrization(layer, "other", Double())),
        ("does not have a parametrization on", lambda: parametrize.remove_parametrizations(layer, "weight")),
        ("requires one or more modules", lambda: parametrize.ParametrizationList([], layer.weight)),
    ):
        with pytest.raises(ValueError, match=problem):
            make()
    assert type(layer) is nn.Linear and "weight" in layer._parameters
    parametrize.register_parametrization(layer, "weight", Sum(), unsafe=True)
    assert layer.weight.shape == ()


def test_weight_norm_old_and_new(layer):
    x = values(2, 3)
    plain = layer(x)
    new = parametrizations.weight_norm(copy.deepcopy(layer))
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        old = nn.utils.weight_norm(copy.deepcopy(layer))
    assert {k: tuple(v.shape) for k, v in old.state_dict().items()} == {"bias": (4,), "weight_g": (4, 1), "weight_v": (4, 3)}
    for module in (old, new):
        assert torch.allclose(module(x), plain)
        module(x).sum().backward()
    expected = [2.0829, 2.2603, 1.7726, -2.2455]
    assert old.weight_g.grad.flatten().tolist() == pytest.approx(expected, abs=1e-4)
    assert new.parametrizations.weight.original0.grad.flatten().tolist() == pytest.approx(expected, abs=1e-4)
    assert repr(new.load_state_dict(old.state_dict())) == "<All keys matched successfully>"
    with pytest.raises(RuntimeError, match="two weight_norm hooks"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nn.utils.weight_norm(old)
    nn.utils.remove_weight_norm(old)
    assert list(old.state_dict()) == ["bias", "weight"] and torch.allclose(old(x), plain)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        nn.utils.remove_weight_norm(old)


@pytest.mark.parametrize("made_by", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_orthogonal(made_by, shape):
    layer = nn.Linear(shape[1], shape[0])
    layer.weight.data.copy_(values(*shape))
    parametrizations.orthogonal(layer, orthogonal_map=made_by)
    tall = lambda w: w if shape[0] >= shape[1] else w.t()
    unit = torch.eye(min(shape))
    assert torch.allclose(tall(layer.weight).t() @ tall(layer.weight), unit, atol=1e-5)
    wanted = tall(torch.linalg.qr(tall(values(*shape)))[0])
    layer.weight = wanted
    assert torch.allclose(layer.weight, wanted, atol=1e-5)
    layer(torch.ones(1, shape[1])).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    bare = nn.Linear(shape[1], shape[0])
    parametrizations.orthogonal(bare, orthogonal_map=made_by, use_trivialization=False)
    assert torch.allclose(tall(bare.weight).t() @ tall(bare.weight), unit, atol=1e-5)
    if made_by == "householder":
        bare.weight = wanted
        assert torch.allclose(bare.weight, wanted, atol=1e-5)
    else:
        with pytest.raises(NotImplementedError, match="use_trivialization=False"):
            bare.weight = wanted


def test_spectral_norm_old_and_new(layer):
    x = values(2, 3)
    new, old = parametrizations.spectral_norm(copy.deepcopy(layer)), nn.utils.spectral_norm(copy.deepcopy(layer))
    for _ in range(30):
        old(x)
    for module in (new, old):
        module.eval()
        assert torch.linalg.matrix_norm(module.weight, 2).item() == pytest.approx(1, abs=1e-4)
    assert list(old.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert old.state_dict()._metadata[""] == {"version": 1, "spectral_norm": {"weight.version": 1}}
    old.load_state_dict(old.state_dict())
    of_version_none = old.state_dict()
    weight = old.weight.detach()
    del of_version_none._metadata[""]["spectral_norm"], of_version_none["weight_v"]
    of_version_none["weight"] = weight
    again = nn.utils.spectral_norm(nn.Linear(3, 4)).eval()
    again.load_state_dict(of_version_none)
    assert torch.allclose(again(x), old(x), atol=1e-4)
    nn.utils.remove_spectral_norm(old)
    assert torch.allclose(old.weight, weight, atol=1e-6) and not old._forward_pre_hooks and not old._state_dict_hooks
    parametrize.remove_parametrizations(new, "weight")
    assert parametrizations.spectral_norm(nn.ConvTranspose1d(2, 3, 2)).parametrizations.weight[0].dim == 1
    with pytest.raises(ValueError, match="n_power_iterations to be positive"):
        parametrizations.spectral_norm(layer, n_power_iterations=0)


def test_pruning(layer):
    prune.l1_unstructured(layer, "weight", 0.3)
    assert prune.is_pruned(layer) and list(layer.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    assert layer.weight_mask.tolist() == [[0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 1, 1]]
    prune.ln_structured(layer, "weight", 1, 2, 0)
    assert layer.weight_mask.tolist() == [[0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 1]]
    (hook,) = layer._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2
    layer(values(2, 3)).sum().backward()
    assert ((layer.weight_orig.grad == 0) == (layer.weight_mask == 0)).all()
    prune.remove(layer, "weight")
    assert list(layer.state_dict()) == ["bias", "weight"] and (layer.weight == 0).sum().item() == 5
    with pytest.raises(ValueError, match="has to be pruned before"):
        prune.remove(layer, "weight")


def test_pruning_several_at_once_and_by_chance(layer):
    net = nn.Sequential(layer, nn.Linear(4, 2))
    prune.global_unstructured([(m, "weight") for m in net], prune.L1Unstructured, amount=7)
    assert sum((m.weight == 0).sum().item() for m in net) == 7
    other = nn.Linear(4, 5)
    prune.random_structured(other, "weight", 2, dim=0)
    assert (other.weight == 0).all(1).sum().item() == 2
    prune.random_unstructured(other, "bias", 0.4)
    assert (other.bias == 0).sum().item() == 2
    prune.custom_from_mask(other, "weight", torch.zeros(5, 4))
    assert (other.weight == 0).all()
    for amount, error in (("a", TypeError), (2.0, ValueError), (-1, ValueError), (100, ValueError)):
        with pytest.raises(error):
            prune.l1_unstructured(nn.Linear(2, 2), "weight", amount)
    with pytest.raises(ValueError, match="multidimensional"):
        prune.ln_structured(nn.Linear(2, 2), "bias", 1, 2, 0)


def test_normalisations_fold_into_the_layer_before(layer):
    norm = nn.BatchNorm2d(3).eval()
    norm.running_mean.copy_(values(3))
    norm.running_var.copy_(values(3).abs() + 0.5)
    x = values(1, 2, 5, 5)
    for conv in (nn.Conv2d(2, 3, 2).eval(), nn.Conv2d(2, 3, 2, bias=False).eval()):
        assert torch.allclose(nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-5)
    back = nn.ConvTranspose2d(2, 3, 2).eval()
    assert torch.allclose(nn.utils.fuse_conv_bn_eval(back, norm, transpose=True)(x), norm(back(x)), atol=1e-5)
    row = nn.BatchNorm1d(4).eval()
    assert torch.allclose(nn.utils.fuse_linear_bn_eval(layer.eval(), row)(values(2, 3)), row(layer(values(2, 3))), atol=1e-5)
    with pytest.raises(AssertionError, match="only for eval"):
        nn.utils.fuse_linear_bn_eval(layer.train(), row)


def test_clipping(layer):
    layer(values(2, 3)).sum().backward()
    grads = [p.grad for p in layer.parameters()]
    norm = torch.cat([g.flatten() for g in grads]).norm()
    assert nn.utils.get_total_norm(grads).item() == pytest.approx(norm.item())
    assert nn.utils.clip_grad_norm_(layer.parameters(), 0.5).item() == pytest.approx(norm.item())
    assert nn.utils.get_total_norm(grads).item() == pytest.approx(0.5, abs=1e-5)
    largest = max(g.abs().max().item() for g in grads)
    nn.utils.clip_grads_with_norm_(layer.parameters(), largest / 2, nn.utils.get_total_norm(grads, float("inf")))
    assert max(g.abs().max().item() for g in grads) == pytest.approx(largest / 2, abs=1e-5)
    nn.utils.clip_grad_value_(layer.parameters(), 0.01)
    assert max(g.abs().max().item() for g in grads) <= 0.01
    grads[0][0, 0] = float("nan")
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        nn.utils.clip_grad_norm_(layer.parameters(), 1, error_if_nonfinite=True)
    with pytest.warns(UserWarning, match="empty generator"):
        nn.utils.clip_grad_norm_((p for p in ()), 1)


def test_skip_init_and_vectors(layer):
    made = nn.utils.skip_init(nn.Linear, 3, 2, dtype=torch.float64)
    assert made.weight.shape == (2, 3) and made.weight.dtype == torch.float64 and not made.weight.is_meta
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    nn.utils.vector_to_parameters(vector * 2, layer.parameters())
    assert torch.equal(layer.bias, values(4) * 2)
    with pytest.raises(TypeError, match="expected torch.Tensor"):
        nn.utils.vector_to_parameters([1], layer.parameters())


def test_functional_call(layer):
    x, call = values(2, 3), torch.func.functional_call
    assert torch.equal(call(layer, {"weight": torch.zeros(4, 3)}, x), layer.bias.expand(2, 4))
    assert torch.equal(layer.weight, values(4, 3))
    assert torch.equal(call(layer, {"unknown": x}, (x,)), layer(x)) and not hasattr(layer, "unknown")
    with pytest.raises(RuntimeError, match="Unexpected key.*'unknown'(?s:.*)Missing key.*'bias'"):
        call(layer, {"weight": layer.weight, "unknown": x}, x, strict=True)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        call(layer, ({"weight": x}, {"weight": x}), x)
    with pytest.raises(ValueError, match="Expected parameter_and_buffer_dicts to be a dict"):
        call(layer, 3, x)
    norm = nn.BatchNorm1d(3)
    buffers = dict(norm.named_buffers())
    buffers = {k: v.clone() for k, v in buffers.items()}
    call(norm, buffers, x)
    assert buffers["num_batches_tracked"].item() == 1 and norm.num_batches_tracked.item() == 0


def test_tied_weights_are_replaced_under_all_names():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.ones(1))
            self.b = self.a

        def forward(self, x):
            return x * self.a + self.b

    tied, x = Tied(), torch.ones(1)
    assert torch.func.functional_call(tied, {"a": torch.full((1,), 3.0)}, x).item() == 6
    assert torch.func.functional_call(tied, {"a": torch.full((1,), 3.0)}, x, tie_weights=False).item() == 4
    with pytest.raises(ValueError, match="which are tied"):
        torch.func.functional_call(tied, {"a": torch.zeros(1), "b": torch.ones(1)}, x)


def test_stacked_state():
    models = [nn.Linear(2, 2) for _ in range(3)]
    params, buffers = torch.func.stack_module_state(models)
    assert params["weight"].shape == (3, 2, 2) and params["weight"].requires_grad and buffers == {}
    with pytest.raises(RuntimeError, match="at least one model"):
        torch.func.stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        torch.func.stack_module_state([models[0], nn.ReLU()])


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_all_of_it_is_captured(layer, backend, fresh):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        old_norm = nn.utils.weight_norm(copy.deepcopy(layer))
    made = [
        old_norm,
        parametrize.register_parametrization(copy.deepcopy(layer), "weight", Double()),
        parametrizations.weight_norm(copy.deepcopy(layer)),
        parametrizations.orthogonal(copy.deepcopy(layer), orthogonal_map="cayley"),
        parametrizations.spectral_norm(copy.deepcopy(layer)).eval(),
        nn.utils.spectral_norm(copy.deepcopy(layer)).eval(),
        prune.l1_unstructured(copy.deepcopy(layer), "weight", 3),
    ]
    x = values(2, 3)
    for module in made if backend == "eager" else made[:1]:
        assert torch.allclose(torch.compile(module, backend=backend, fullgraph=True)(x), module(x), atol=1e-5)

    def called(x):
        return torch.func.functional_call(layer, dict(layer.named_parameters()), (x,))

    assert torch.allclose(torch.compile(called, backend=backend, fullgraph=True)(x), layer(x), atol=1e-6)


def test_weight_norm_of_one_dim_has_a_norm_for_each_element():
    v = torch.tensor([3.0, -4.0])
    assert torch.norm_except_dim(v, 2, 0).tolist() == [3, 4] and torch.norm_except_dim(v, 2, -1).item() == 5
    assert torch._weight_norm(v, torch.tensor([1.0, 2.0]), 0).tolist() == [1, -2]
    assert nn.utils.parametrizations.weight_norm(nn.Linear(3, 4), "bias").parametrizations.bias.original0.shape == (4,)
    with pytest.warns(FutureWarning):
        assert nn.utils.weight_norm(nn.Linear(3, 4), "bias").bias_g.shape == (4,)
