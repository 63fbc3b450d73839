"""What PyTorch documents of tensors, op by op, on a device and on the CPU."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import weft
from tests.cuda.compiled.as_on_cpu import same
from tests.cuda.compiled.programs import Programs, seq

nn, F = weft.nn, weft.nn.functional
program = Programs()


@program
def reductions_of_every_kind(d):
    x = seq(d, 5, 7)
    return [
        x.sum(),
        x.mean(1),
        x.std(0),
        x.var(1, unbiased=False),
        x.amax(0),
        x.amin(1),
        x.prod(1),
        x.norm(),
        x.logsumexp(1),
        x.argmax(1),
        x.argmin(),
        x.max(1),
        x.min(0),
        x.median(),
        x.mode(1).values,
        x.any(),
        x.all(1),
        x.nansum(),
        x.count_nonzero(1),
        weft.aminmax(x),
        x.cummax(1),
        x.cumprod(0),
    ]


@program
def nothing_in_it(d):
    x = weft.empty(0, 3, device=d)
    return [
        x.sum(),
        x.sum(0),
        x.mean(0),
        x + 1,
        x @ weft.ones(3, 2, device=d),
        weft.cat([x, weft.ones(2, 3, device=d)]),
        x.sort(0),
        x.nonzero(),
        x.T.contiguous(),
        weft.stack([x, x]),
        x.cumsum(0),
        x.softmax(1),
        x.unique(),
        x[x > 0],
        x.to(weft.int32),
        F.linear(x, weft.ones(4, 3, device=d)),
        x.clone().fill_(2),
    ]


@program
def no_dims(d):
    x = weft.tensor(3.0, device=d, requires_grad=True)
    y = (x * x + x.exp().log()).sum()
    y.backward()
    return [
        x.grad,
        y,
        x.item(),
        float(y),
        bool(x),
        int(x),
        x.unsqueeze(0),
        x.expand(3),
        x.reshape(1, 1),
        x.dim(),
        len(x.shape),
        x.tolist(),
        weft.stack([x, x]),
        x.numpy(force=True).item(),
    ]


@program
def empties_are_errors(d):
    return weft.empty(0, device=d).max()


@program
def bad_shapes(d):
    return weft.ones(2, 3, device=d) @ weft.ones(2, 3, device=d)


@program
def bad_broadcast(d):
    return weft.ones(2, 3, device=d) + weft.ones(2, 4, device=d)


@program
def bad_view(d):
    return weft.ones(2, 3, device=d).t().view(6)


@program
def bad_dim(d):
    return weft.ones(2, device=d).sum(3)


@program
def integer_into_mean(d):
    return weft.ones(3, dtype=weft.int64, device=d).mean()


@program
def in_place_on_a_leaf(d):
    return weft.ones(3, device=d, requires_grad=True).add_(1)


@program
def in_place_of_another_dtype(d):
    return weft.ones(3, dtype=weft.int32, device=d).add_(1.5)


@program
def bool_of_many(d):
    return bool(weft.ones(3, device=d))


@program
def numpy_of_what_requires_grad(d):
    return weft.ones(3, device=d, requires_grad=True).cpu().numpy()


@program
def dtypes_meet(d):
    out = []
    for a in (
        weft.bool,
        weft.uint8,
        weft.int16,
        weft.int32,
        weft.int64,
        weft.float16,
        weft.bfloat16,
        weft.float32,
        weft.float64,
        weft.complex64,
    ):
        for b in (weft.int32, weft.float16, weft.float64):
            out.append(weft.ones(2, dtype=a, device=d) * weft.ones(2, dtype=b, device=d) + 1)
    return out


@program
def bits(d):
    x = weft.arange(8, device=d)
    return [
        x & 3,
        x | 4,
        x ^ 5,
        ~x,
        x << 2,
        x >> 1,
        x % 3,
        x // 3,
        -x // 3,
        weft.fmod(-x, 3),
        x.bitwise_not(),
        x.to(weft.uint8) - 9,
        x.to(weft.int8) * 100,
        x.float().view(weft.int32),
    ]


@program
def complex_numbers(d):
    x = weft.complex(seq(d, 4), seq(d, 4) + 1)
    return [
        x * x.conj(),
        x.abs(),
        x.angle(),
        x.real,
        x.imag,
        weft.view_as_real(x),
        x.exp(),
        x @ x,
        x.reshape(2, 2).T.conj(),
        x.sum(),
        (x / (x + 3)),
        x.sqrt(),
    ]


@program
def indexing(d):
    x, i = seq(d, 4, 5), weft.tensor([2, 0, 2], device=d)
    y = x.clone()
    y[i] = 7
    y[:, 1] += 1
    y[y > 3] = 0
    y[1, 2:4] = weft.tensor([8.0, 9.0], device=d)
    return [
        x[i],
        x[i, i],
        x[:, i],
        x[..., -1],
        x[None, 1:3, ::2],
        x[x > 0],
        y,
        x.gather(1, i.view(1, 3).expand(4, 3)),
        x.index_select(0, i),
        x.take(i),
        x[i.cpu()],
        x.index_add(0, i, weft.ones(3, 5, device=d)),
        x.scatter(1, i.view(1, 3), 9.0),
        x.masked_fill(x < 0, -1),
        x.masked_select(x > 1),
        x.where(x > 0, 0.5),
        weft.where(x > 0),
        x.index_fill(1, i, 3),
        x.index_put((i,), weft.zeros(3, 5, device=d)),
        x.put_(i, weft.ones(3, device=d)),
    ]


@program
def lists_index(d):
    x = seq(d, 4, 5)
    return [
        x[[0, 3]],
        x[[True, False, True, False]],
        x[weft.tensor([1]), :, None],
        x[np.array([1, 2])],
        x[1][2].item(),
        list(x.shape),
        [float(v) for v in x[0]],
    ]


@program
def shapes(d):
    x = seq(d, 2, 3, 4)
    return [
        x.permute(2, 0, 1),
        x.transpose(0, 2).contiguous(),
        x.flatten(1),
        x.unfold(2, 2, 1),
        x.movedim(0, 2),
        x.squeeze(),
        x.chunk(2, 2),
        x.split([1, 3], 2),
        x.unbind(1),
        x.roll(1, 2),
        x.flip(0, 1),
        x.rot90(1, [0, 1]),
        x.repeat(1, 2, 1),
        x.tile(2),
        x.repeat_interleave(2, 1),
        x.narrow(2, 1, 2),
        x.diagonal(0, 0, 1),
        x.tril(),
        x.triu(1),
        x.swapaxes(0, 1),
        weft.meshgrid(x[0, 0], x[0, 1], indexing="ij"),
        x.as_strided((2, 2), (1, 3), 1),
        F.pad(x, (1, 2), value=5),
        F.pad(x, (1, 1), mode="reflect"),
        x.unflatten(2, (2, 2)),
        x.expand(5, 2, 3, 4),
        weft.block_diag(x[0], x[1]),
    ]


@program
def sorting(d):
    x = seq(d, 3, 9)
    return [
        x.sort(1),
        x.sort(1, descending=True, stable=True),
        x.argsort(1, stable=True),
        x.topk(3),
        x.topk(2, largest=False),
        x.kthvalue(2).values,
        x.unique(),
        x.unique(return_inverse=True, return_counts=True),
        x.unique_consecutive(),
        weft.searchsorted(x[0].sort().values, x[1]),
        weft.bucketize(x, weft.tensor([-1.0, 0, 1], device=d)),
        x.msort(),
        x.quantile(0.3),
        x.histc(4),
        weft.bincount(weft.tensor([1, 1, 4], device=d)),
    ]


@program
def products(d):
    a, b = seq(d, 3, 4), seq(d, 4, 5)
    return [
        a @ b,
        weft.mm(a, b),
        weft.addmm(weft.ones(5, device=d), a, b, beta=0.5, alpha=2),
        weft.bmm(seq(d, 2, 3, 4), seq(d, 2, 4, 3)),
        weft.einsum("ij,jk->ki", a, b),
        weft.dot(a[0], b[:, 0]),
        weft.outer(a[0], b[0]),
        a.mv(b[:, 0]),
        weft.baddbmm(weft.ones(2, 3, 3, device=d), seq(d, 2, 3, 4), seq(d, 2, 4, 3)),
        weft.tensordot(a, b, 1),
        weft.kron(a, b),
        weft.cdist(a, a),
        weft.linalg.multi_dot([a, b, b.T]),
        weft.matrix_power(a @ a.T, 3),
        weft.trace(a @ a.T),
        weft.cross(a[:, :3], a[:, 1:]),
    ]


@program
def layouts_stay(d):
    x = seq(d, 2, 3, 4, 5).to(memory_format=weft.channels_last)
    y = x * 2 + x.relu()
    z = F.conv2d(x, seq(d, 4, 3, 2, 2))
    return [
        y,
        z,
        F.max_pool2d(x, 2),
        F.interpolate(x, scale_factor=2),
        x.clone(),
        weft.empty_like(x).zero_(),
        x.contiguous(),
        x.is_contiguous(memory_format=weft.channels_last),
        F.batch_norm(x, weft.zeros(3, device=d), weft.ones(3, device=d)),
        x.permute(0, 2, 3, 1),
    ]


@program
def made_like(d):
    x = seq(d, 2, 3)
    return [
        weft.zeros_like(x),
        weft.ones_like(x, dtype=weft.int64),
        weft.full_like(x, 3),
        x.new_zeros(2),
        x.new_tensor([1, 2]),
        x.new_full((2,), 5),
        x.new_ones(3, dtype=weft.float16),
        weft.linspace(0, 1, 5, device=d),
        weft.logspace(0, 2, 3, device=d),
        weft.arange(1, 9, 3, device=d),
        weft.eye(3, device=d),
        weft.tril_indices(3, 3, device=d),
        weft.full((2,), True, device=d),
        weft.tensor([[1, 2], [3, 4]], device=d),
        weft.as_tensor(np.ones(3), device=d),
        weft.asarray([1.0], device=d),
        weft.from_numpy(np.arange(3)).to(d),
        weft.scalar_tensor(2, device=d),
        weft.hann_window(5, device=d),
        weft.complex(x, x),
    ]


@program
def copies_of_every_kind(d):
    x = seq(d, 2, 3).requires_grad_()
    y = copy.deepcopy(x)
    z = pickle.loads(pickle.dumps(x))
    file = io.BytesIO()
    weft.save({"x": x, "p": nn.Parameter(x.detach())}, file)
    file.seek(0)
    found = weft.load(file)
    return [
        y,
        z,
        found["x"],
        found["p"],
        str(y.device),
        str(z.device),
        type(found["p"]).__name__,
        x.data_ptr() != y.data_ptr(),
        copy.copy(x).data_ptr() == x.data_ptr(),
    ]


@program
def printing(d):
    x = seq(d, 2, 2)
    return [
        repr(x),
        repr(x.half()),
        repr(x > 0),
        repr(x.long()),
        repr(x.requires_grad_()),
        repr(x * 2),
        f"{x[0, 0]:.3f}",
        f"{x.sum().detach()}",
        str(weft.empty(0, device=d)),
        repr(nn.Parameter(weft.zeros(2, device=d))),
        repr(weft.complex(x, x).detach()),
        repr(weft.ones(2, dtype=weft.bfloat16, device=d)),
    ]


@program
def in_a_block_of_the_device(d):
    with weft.device(d):
        m = nn.Linear(2, 3)
        x = weft.ones(4, 2)
        return [
            x.device.type == d,
            m.weight.device.type == d,
            weft.tensor([1.0]).device.type == d,
            m(x).shape,
            weft.zeros(2, device="cpu").device.type,
            weft.empty_like(x).device.type == d,
        ]


@program
def by_default(d):
    weft.set_default_device(d)
    try:
        return [
            weft.ones(2).device.type == d,
            weft.get_default_device().type == d,
            weft.randn(3),
            nn.Linear(2, 2).weight.device.type == d,
            weft.arange(3),
            weft.from_numpy(np.ones(2)).device.type,
            weft.as_tensor([1]).device.type == d,
        ]
    finally:
        weft.set_default_device(None)


@pytest.mark.parametrize("name", program)
def test_as_on_the_cpu(cuda, name):
    same(program[name])
