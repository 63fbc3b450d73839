"""Programs of users that train: modules, optimizers, mixed precision, files, hooks, functions of their own."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import weft
from tests.cuda.compiled.as_on_cpu import same

nn, F = weft.nn, weft.nn.functional


def grads(module):
    return [p.grad for p in module.parameters()]


def moved(d):
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).to(d)
    y = model(weft.randn(5, 4).to(d))
    y.sum().backward()
    return y, grads(model), list(model.buffers())


def lstm(d):
    model = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True).to(d)
    x = weft.randn(2, 4, 3).to(d).requires_grad_()
    y, (h, c) = model(x)
    (y.sum() + h.sum() * 2).backward()
    return y, h, c, x.grad, grads(model)


def gru_of_packed_rows(d):
    model, x = nn.GRU(3, 4).to(d), weft.randn(5, 2, 3).to(d)
    y, h = model(nn.utils.rnn.pack_padded_sequence(x, weft.tensor([5, 3])))
    return *nn.utils.rnn.pad_packed_sequence(y), h


def transformer(d):
    model = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).to(d)
    x = weft.randn(2, 5, 8).to(d).requires_grad_()
    y = model(x, src_key_padding_mask=weft.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]).bool().to(d))
    y.sum().backward()
    return y, x.grad


def weights_of_attention(d):
    x = weft.randn(3, 2, 8).to(d)
    return nn.MultiheadAttention(8, 2).to(d)(x, x, x, attn_mask=weft.ones(3, 3).triu(1).bool().to(d))


def images(d):
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 2)
    )
    loss = F.cross_entropy(model.to(d)(weft.randn(2, 1, 4, 4).to(d)), weft.tensor([0, 1]).to(d))
    loss.backward()
    return loss, grads(model)


def channels_last(d):
    model = nn.Conv2d(2, 3, 3).to(d).to(memory_format=weft.channels_last)
    return model(weft.randn(1, 2, 5, 5).to(d).contiguous(memory_format=weft.channels_last))


def transposed_convolution_of_groups(d):
    x = weft.randn(1, 4, 5).to(d).requires_grad_()
    y = nn.ConvTranspose1d(4, 4, 3, stride=2, groups=2).to(d)(x)
    y.sum().backward()
    return y, x.grad


def a_scaler_that_meets_infinity(d):
    w = weft.ones(3, device=d, requires_grad=True)
    optimizer, out = weft.optim.SGD([w], lr=1.0), []
    scaler = weft.amp.GradScaler(d, init_scale=4.0, growth_interval=2)
    for k in range(4):
        optimizer.zero_grad()
        scaler.scale((w * (float("inf") if k == 1 else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        out += [scaler.get_scale(), w.detach().clone()]
    return out, scaler.state_dict()


def training_that_goes_on_from_a_file(d):
    model = nn.Linear(3, 2).to(d)
    optimizer, x = weft.optim.Adam(model.parameters()), weft.ones(1, 3, device=d)
    model(x).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    weft.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, file)
    file.seek(0)
    saved = weft.load(file, map_location="cpu")
    again = nn.Linear(3, 2).to(d)
    again.load_state_dict(saved["model"])
    optimizer = weft.optim.Adam(again.parameters())
    optimizer.load_state_dict(saved["optimizer"])
    state = optimizer.state[again.weight]
    assert state["exp_avg"].device.type == d and state["step"].device.type == "cpu"
    again(x).sum().backward()
    optimizer.step()
    return list(again.parameters()), saved["epoch"]


def activations_computed_again(d):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.ReLU()).to(d)
    x = weft.randn(3, 4).to(d).requires_grad_()
    y = weft.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
    y.sum().backward()
    return y, x.grad, grads(model)


def copies(d):
    model = nn.Linear(2, 2).to(d)
    other = copy.deepcopy(model)
    other.weight.data.zero_()
    read = pickle.loads(pickle.dumps(model.weight.detach()))
    assert read.device.type == d
    return model.weight, other.weight, read


def hooks(d):
    seen, model = [], nn.Linear(3, 1, bias=False).to(d)
    x = weft.ones(3, device=d, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    model.weight.data.fill_(1.0)
    model.register_forward_hook(lambda module, args, out: out * 3)
    model.register_full_backward_hook(lambda module, into, out: seen.append(out[0]))
    model(x).sum().backward()
    return x.grad, seen


class Square(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def a_function_of_the_user(d):
    x = weft.arange(4.0, device=d, requires_grad=True)
    Square.apply(x).sum().backward()
    return x.grad


def transforms(d):
    w, x = weft.randn(3, 4).to(d), weft.randn(5, 4).to(d)
    f = lambda w, x: weft.tanh(w @ x).sum()
    return weft.vmap(weft.func.grad(f), (None, 0))(w, x), weft.func.jacrev(lambda x: (w @ x).sin())(x[0])


def derivatives_of_derivatives(d):
    x = weft.tensor([1.0, 2.0], device=d, requires_grad=True)
    (g,) = weft.autograd.grad((x**3).sum(), x, create_graph=True)
    g.sum().backward()
    return g, x.grad


def made_on_meta(d):
    with weft.device("meta"):
        model = nn.Linear(2, 2)
    model = model.to_empty(device=d)
    weft.manual_seed(0)
    model.reset_parameters()
    return list(model.parameters())


def averaged_and_clipped(d):
    model = nn.Linear(3, 2).to(d)
    (model(weft.ones(1, 3, device=d)) * 100).sum().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    averaged = weft.optim.swa_utils.AveragedModel(model)
    averaged.update_parameters(model)
    return norm, grads(model), list(averaged.parameters())


def a_written_buffer_compiled(d):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", weft.zeros(()))

        def forward(self, x):
            self.n += 1
            return x + self.n

    model, x = Counter().to(d), weft.ones(2, device=d)
    call = weft.compile(model)
    return call(x), call(x), model.n


def attention(d):
    q, k, v = (weft.randn(1, 2, 5, 8).to(d).requires_grad_() for _ in range(3))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y.sum().backward()
    return y, q.grad, k.grad, v.grad


PROGRAMS = [moved, lstm, gru_of_packed_rows, transformer, weights_of_attention, images, channels_last,
            transposed_convolution_of_groups, a_scaler_that_meets_infinity, training_that_goes_on_from_a_file,
            activations_computed_again, copies, hooks, a_function_of_the_user, transforms, derivatives_of_derivatives, made_on_meta,
            averaged_and_clipped, a_written_buffer_compiled, attention]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_on_the_cpu(cuda, program):
    same(program)


OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"lr": 0.01}, "AdamW": {"amsgrad": True}, "RMSprop": {"lr": 0.01},
    "Adagrad": {"lr": 0.1}, "Adadelta": {}, "NAdam": {}, "RAdam": {}, "Adamax": {}, "ASGD": {}, "Rprop": {},
}  # fmt: skip
FUSED = ("SGD", "Adam", "AdamW", "Adagrad")


@pytest.mark.parametrize(
    "name, how",
    [(n, "") for n in OPTIMIZERS]
    + [(n, "fused") for n in FUSED]
    + [(n, "capturable") for n in OPTIMIZERS if n not in ("SGD", "Adagrad")],
)
def test_steps_of_optimizers(cuda, name, how):
    def program(d):
        model = nn.Linear(4, 2).to(d)
        settings = {how: True} if how and d == "cuda" else {}  # steps of the CPU cannot be captured
        optimizer = getattr(weft.optim, name)(model.parameters(), **OPTIMIZERS[name], **settings)
        x = weft.randn(5, 4).to(d)
        for _ in range(2):
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()
        return list(model.parameters())

    same(program)
