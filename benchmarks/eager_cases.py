"""The calls that `benchmarks.eager_ops` measures: expressions over named inputs of two sizes.

Nothing of either library is imported here: `torch` is whichever it is given.
"""

from __future__ import annotations

from typing import Any

_made: dict[str, dict[str, Any]] = {}


def inputs_of(torch: Any, size: str) -> dict[str, Any]:
    """The inputs by name: "large" ones have about 262144 elements, "small" ones about 64, "usual" ones are those of models."""
    if size not in _made:
        _made[size] = _usual_inputs(torch) if size == "usual" else _inputs(torch, size == "large")
    return _made[size]


def cases_of(size: str) -> dict[str, str]:
    """The expressions over the inputs of that size, by name."""
    return USUAL if size == "usual" else CASES


def _usual_inputs(torch: Any) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(0)

    def real(*sizes: int) -> Any:
        return torch.from_numpy(rng.standard_normal(sizes).astype(np.float32))

    def ints(high: int, *sizes: int) -> Any:
        return torch.from_numpy(rng.integers(0, high, sizes))

    return {
        "x": real(2048, 2048),
        "y": real(2048, 2048),
        "odd": real(1023, 1025),
        "cube": real(64, 129, 512),
        "hidden": real(2048, 768),
        "row": real(768),
        "classes": real(256, 32000),
        "target": ints(32000, 256),
        "table": real(32000, 256),
        "ids": ints(32000, 4096),
        "im56": real(8, 64, 56, 56),
        "im28": real(8, 128, 28, 28),
        "im224": real(2, 3, 224, 224),
        "w3": real(64, 64, 3, 3),
        "w1": real(256, 64, 1, 1),
        "w3s": real(256, 128, 3, 3),
        "w7": real(64, 3, 7, 7),
        "scale": real(64),
        "mean": real(64),
        "var": real(64).abs() + 0.1,
        "q512": real(1, 8, 512, 64),
        "q2048": real(1, 4, 2048, 64),
        "at": ints(2048, 2048),
        "k": ints(2048, 2048, 2048),
        "b3": real(32, 128, 256),
        "c3": real(32, 256, 128),
        "h": real(2048, 768).to(torch.bfloat16),
        "hw": real(3072, 768).to(torch.bfloat16),
        "hb": real(3072).to(torch.bfloat16),
        "wide": real(768, 768),
    }


def _inputs(torch: Any, large: bool) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    n = 512 if large else 8
    batch, channels, side = (8, 32, 32) if large else (1, 4, 4)

    def real(*sizes: int) -> Any:
        return torch.from_numpy(rng.standard_normal(sizes).astype(np.float32))

    def positive(*sizes: int) -> Any:
        return real(*sizes).abs() + 0.1

    def ints(high: int, *sizes: int) -> Any:
        return torch.from_numpy(rng.integers(0, high, sizes))

    x, y, p = real(n, n), real(n, n), positive(n, n)
    square = real(128 if large else 8, 128 if large else 8)
    return {
        "x": x,
        "y": y,
        "p": p,
        "z": real(n, n),
        "v": real(n * n),
        "w": real(n * n),
        "row": real(n),
        "column": real(n, 1),
        "u": p / (p + 1),
        "c": torch.complex(x, y),
        "d": x.double(),
        "h": x.to(torch.bfloat16),
        "half": x.to(torch.float16),
        "i": ints(200, n, n) - 100,
        "j": ints(6, n, n) + 1,
        "b": x > 0,
        "k": ints(n, n, n),
        "at": ints(n, n),
        "flat": ints(n * n, n * n),
        "i32": (ints(200, n, n) - 100).int(),
        "u8": ints(200, n, n).to(torch.uint8),
        "im": real(batch, channels, side, side),
        "imh": real(batch, channels, side, side).to(torch.bfloat16),
        "w3": real(channels, channels, 3, 3),
        "w1": real(channels, channels, 1, 1),
        "wd": real(channels, 1, 3, 3),
        "bias": real(channels),
        "seq": real(batch, channels, side * side),
        "ws": real(channels, channels, 3),
        "vol": real(2, 8, 16, 32, 32) if large else real(1, 2, 2, 4, 4),
        "wv": real(8, 8, 3, 3, 3) if large else real(2, 2, 3, 3, 3),
        "grid": torch.tanh(real(batch, side, side, 2)),
        "table": real(1000, 256) if large else real(10, 8),
        "ids": ints(1000, 1024) if large else ints(10, 8),
        "q": real(4, 8, 128, 64) if large else real(1, 2, 4, 8),
        "logits": real(256, 1024) if large else real(8, 8),
        "target": ints(1024, 256) if large else ints(8, 8),
        "square": square,
        "spd": square @ square.T + len(square) * torch.eye(len(square)),
        "stack3": real(16, 128, 128) if large else real(2, 4, 4),
        "mean": real(channels),
        "var": positive(channels),
        "im1": real(batch, 1, side, side),
        "N": n,
    }


_POINTWISE = """abs acos_ angle asin_ asinh atan atanh_ ceil cos cosh digamma_ erf erfc erfinv_ exp exp2 expm1 floor
frac isfinite isinf isnan
lgamma log_ log10_ log1p_ log2_ logit_ nan_to_num neg positive reciprocal_ relu round rsqrt_ sgn sigmoid sign signbit sin sinc sinh
sqrt_ square tan tanh trunc deg2rad i0"""
_ACTIVATIONS = """celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu
softplus softshrink softsign
tanhshrink"""
_CALLS = """
add: x + y
add number: x + 1
add row: x + row
add column: x + column
sub: x - y
mul: x * y
div: x / p
div floor: torch.div(x, p, rounding_mode='floor')
pow: p ** y
pow number: p ** 2.5
pow 2: x ** 2
fmod: torch.fmod(x, 0.7)
remainder: x % 0.7
remainder int: i % 7
floor_divide int: i // 7
div int: i / j
div trunc int: torch.div(i, j, rounding_mode='trunc')
atan2: torch.atan2(x, y)
hypot: torch.hypot(x, y)
maximum: torch.maximum(x, y)
fmax: torch.fmax(x, y)
copysign: torch.copysign(x, y)
logaddexp: torch.logaddexp(x, y)
xlogy: torch.xlogy(x, p)
eq: x == y
lt: x < y
logical_and: b & b
logical_not: ~b
bitwise_xor: i ^ j
shift: i << 2
where: torch.where(b, x, y)
clamp: x.clamp(-1, 1)
clamp tensors: x.clamp(-p, p)
lerp: torch.lerp(x, y, 0.3)
lerp tensor: torch.lerp(x, y, u)
addcmul: torch.addcmul(x, y, p, value=0.5)
addcdiv: torch.addcdiv(x, y, p, value=0.5)
masked_fill: x.masked_fill(b, 0.0)
isclose: torch.isclose(x, y)
heaviside: torch.heaviside(x, y)
gcd: torch.gcd(i, j)
add bfloat16: h + h
exp bfloat16: h.exp()
mul float16: half * half
exp float64: d.exp()
add int32: i32 + i32
add uint8: u8 + u8
add complex: c + c
mul complex: c * c
div complex: c / c
exp complex: c.exp()
sgn complex: c.sgn()
abs complex: c.abs()
to bfloat16: x.to(torch.bfloat16)
to float64: x.double()
int to float: i.float()
clone: x.clone()
transposed copy: x.t().contiguous()
channels last copy: im.permute(0, 2, 3, 1).contiguous()
expand copy: row.expand(N, N).contiguous()
copy_: x.clone().copy_(y)
reshape: x.t().reshape(-1)
slice copy: x[:, ::2].contiguous()
unfold copy: v.unfold(0, 4, 2).contiguous()
view: x.view(-1)
cat: torch.cat([x, y])
cat 1: torch.cat([x, y], 1)
stack: torch.stack([x, y])
stack last: torch.stack([x, y], -1)
chunk cat: torch.cat(x.chunk(4, 1), 0)
flip: x.flip(1)
roll: x.roll(3, 1)
rot90: torch.rot90(x)
repeat: x[:4].repeat(2, 1)
repeat_interleave: x[:, :4].repeat_interleave(2, 1)
repeat counts: row.repeat_interleave(at.clamp(max=3))
pad: F.pad(im, (1, 1, 1, 1))
pad reflect: F.pad(im, (1, 1, 1, 1), mode='reflect')
pad replicate: F.pad(im, (1, 1, 1, 1), mode='replicate')
pad circular: F.pad(im, (1, 1, 1, 1), mode='circular')
tril: x.tril()
triu: x.triu(1)
diag: torch.diag(row)
diagonal: x.diagonal() * 1
diag_embed: torch.diag_embed(x[:, :4])
pixel_shuffle: F.pixel_shuffle(im, 2)
meshgrid: torch.meshgrid(row, row, indexing='ij')
unbind: torch.unbind(x)
split: x.split(2, 1)
gather: x.gather(1, k)
gather 0: x.gather(0, k)
scatter: x.scatter(1, k, y)
scatter number: x.scatter(1, k, 1.0)
scatter_add: x.scatter_add(1, k, y)
scatter_add 0: x.scatter_add(0, k, y)
scatter_reduce amax: x.scatter_reduce(1, k, y, 'amax')
scatter_reduce mean: x.scatter_reduce(1, k, y, 'mean')
index_select: x.index_select(0, at)
index_select 1: x.index_select(1, at)
index rows: x[at]
index columns: x[:, at]
index pairs: x[at, at]
index flat: v[flat]
index mask: x[b]
take: torch.take(x, flat)
take_along_dim: torch.take_along_dim(x, k, 1)
index_put: x.index_put((at,), y)
index_put add: x.index_put((at,), y, accumulate=True)
index_add: x.index_add(0, at, y)
index_copy: x.index_copy(0, at, y)
index_fill: x.index_fill(0, at, 0.5)
setitem mask: x.clone().__setitem__(b, 0.0)
setitem rows: x.clone().__setitem__(at, 0.0)
setitem slice: x.clone().__setitem__((slice(None), 3), 0.0)
nonzero: b.nonzero()
masked_select: x.masked_select(b)
masked_scatter: x.masked_scatter(b, y)
embedding: F.embedding(ids, table)
one_hot: F.one_hot(ids)
bincount: flat.bincount()
embedding_bag: F.embedding_bag(ids.view(-1, 8), table)
sum: x.sum()
sum 0: x.sum(0)
sum 1: x.sum(1)
mean: x.mean(1)
var: x.var(1)
std 0: x.std(0)
std: x.std()
prod: x.prod(1)
max: x.max()
max 1: x.max(1)
argmax: x.argmax(1)
argmin 0: x.argmin(0)
amax 0: x.amax(0)
aminmax: x.aminmax()
any: b.any()
all 1: b.all(1)
norm: x.norm()
norm 1: x.norm(dim=1)
norm p3: x.norm(3)
vector_norm inf: torch.linalg.vector_norm(x, float('inf'))
logsumexp: x.logsumexp(1)
nansum: x.nansum()
count_nonzero: x.count_nonzero()
sum int: i.sum(1)
sum uint8: u8.sum()
sum bool: b.sum()
sum bfloat16: h.sum(1)
trace: x.trace()
cumsum: x.cumsum(1)
cumsum 0: x.cumsum(0)
cumsum int: i.cumsum(1)
cumprod: x.cumprod(1)
cummax: x.cummax(1)
cummin 0: x.cummin(0)
logcumsumexp: x.logcumsumexp(1)
diff: x.diff()
sort: x.sort(1)
sort 0: x.sort(0)
sort int: i.sort(1)
argsort: x.argsort(1)
topk: x.topk(4, 1)
kthvalue: x.kthvalue(4, 1)
median: x.median(1)
mode: i.mode(1)
quantile: x.quantile(0.5, 1)
unique: i.unique()
unique_consecutive: i.unique_consecutive()
histc: x.histc(100)
searchsorted: torch.searchsorted(row.sort()[0], v)
isin: torch.isin(i, at)
equal: torch.equal(x, x)
allclose: torch.allclose(x, x)
softmax: F.softmax(x, 1)
softmax 0: F.softmax(x, 0)
log_softmax: F.log_softmax(x, 1)
layer_norm: F.layer_norm(x, (N,), row, row)
rms_norm: F.rms_norm(x, (N,), row)
batch_norm: F.batch_norm(im, None, None, mean, var, training=True)
batch_norm eval: F.batch_norm(im, mean.detach(), var.detach())
group_norm: F.group_norm(im, 2)
instance_norm: F.instance_norm(im)
normalize: F.normalize(x)
cross_entropy: F.cross_entropy(logits, target)
nll_loss: F.nll_loss(logits, target)
mse_loss: F.mse_loss(x, y)
l1_loss: F.l1_loss(x, y)
smooth_l1_loss: F.smooth_l1_loss(x, y)
huber_loss: F.huber_loss(x, y)
bce_with_logits: F.binary_cross_entropy_with_logits(x, u)
binary_cross_entropy: F.binary_cross_entropy(u, u.detach())
kl_div: F.kl_div(x, u)
cosine_similarity: F.cosine_similarity(x, y)
glu: F.glu(x)
glu 0: F.glu(x, 0)
mm: x @ y
mm bfloat16: h @ h
mm float64: d @ d
mm int64: i[:64] @ i[:, :64]
mm int32: i32[:64] @ i32[:, :64]
bmm: stack3 @ stack3
mv: x @ row
dot: torch.dot(v, w)
outer: torch.outer(row, row)
addmm: torch.addmm(x, y, z)
linear: F.linear(x, y, row)
einsum: torch.einsum('bhqd,bhkd->bhqk', q, q)
attention: F.scaled_dot_product_attention(q, q, q)
attention causal: F.scaled_dot_product_attention(q, q, q, is_causal=True)
cdist: torch.cdist(x, y)
mm complex: c @ c
kron: torch.kron(row, row[:16])
conv1d: F.conv1d(seq, ws, padding=1)
conv2d: F.conv2d(im, w3, bias, padding=1)
conv2d 1x1: F.conv2d(im, w1)
conv2d stride: F.conv2d(im, w3, stride=2, padding=1)
conv2d dilated: F.conv2d(im, w3, padding=2, dilation=2)
conv2d depthwise: F.conv2d(im, wd, padding=1, groups=len(wd))
conv3d: F.conv3d(vol, wv, padding=1)
conv_transpose2d: F.conv_transpose2d(im, w3, padding=1)
max_pool1d: F.max_pool1d(seq, 2)
max_pool2d: F.max_pool2d(im, 2)
max_pool2d 3: F.max_pool2d(im, 3, 2, 1)
max_pool2d indices: F.max_pool2d(im, 2, return_indices=True)
avg_pool2d: F.avg_pool2d(im, 2)
avg_pool2d 3: F.avg_pool2d(im, 3, 1, 1)
max_pool2d ceil: F.max_pool2d(im, 3, 2, ceil_mode=True)
avg_pool2d ceil: F.avg_pool2d(im, 3, 2, 1, ceil_mode=True)
avg_pool2d inside: F.avg_pool2d(im, 3, 2, 1, count_include_pad=False)
max_pool2d bfloat16: F.max_pool2d(imh, 3, 2, 1)
avg_pool2d bfloat16: F.avg_pool2d(imh, 3, 2, 1)
max_pool3d: F.max_pool3d(vol, 2)
max_pool3d 3: F.max_pool3d(vol, 3, 2, 1)
avg_pool3d: F.avg_pool3d(vol, 2)
adaptive_avg_pool2d: F.adaptive_avg_pool2d(im, 1)
adaptive_avg_pool2d 3: F.adaptive_avg_pool2d(im, 3)
adaptive_max_pool2d: F.adaptive_max_pool2d(im, 2)
interpolate nearest: F.interpolate(im, scale_factor=2)
interpolate bilinear: F.interpolate(im, scale_factor=2, mode='bilinear')
interpolate bicubic: F.interpolate(im, scale_factor=2, mode='bicubic')
grid_sample: F.grid_sample(im, grid, align_corners=False)
grid_sample nearest: F.grid_sample(im, grid, mode='nearest', align_corners=False)
affine_grid: F.affine_grid(q[0, :1, :2, :3] * 1, (1, 1, N, N), align_corners=False)
unfold: F.unfold(im, 3, padding=1)
fold: F.fold(F.unfold(im, 3, padding=1), im.shape[2:], 3, padding=1)
inv: torch.linalg.inv(spd)
solve: torch.linalg.solve(spd, square)
cholesky: torch.linalg.cholesky(spd)
det: torch.linalg.det(square)
qr: torch.linalg.qr(square)
svd: torch.linalg.svdvals(square)
eigh: torch.linalg.eigh(spd)
fft: torch.fft.fft(c)
rfft: torch.fft.rfft(x)
rfft2: torch.fft.rfft2(x)
ifft: torch.fft.ifft(c)
irfft: torch.fft.irfft(c[:, : N // 2 + 1])
zeros: torch.zeros(N, N)
full: torch.full((N, N), 0.5)
arange: torch.arange(N * N)
linspace: torch.linspace(0, 1, N * N)
eye: torch.eye(N)
ones_like: torch.ones_like(x)
tril_indices: torch.tril_indices(N, N)
triu_indices: torch.triu_indices(N, N)
rand: torch.rand(N, N)
randn: torch.randn(N, N)
randint: torch.randint(0, 10, (N, N))
randperm: torch.randperm(N * N)
bernoulli: torch.bernoulli(u)
dropout: F.dropout(x, 0.5)
multinomial: torch.multinomial(u, 4)
item: x[0, 0].item()
"""

_USUAL = """
softmax 0: F.softmax(x, 0)
softmax odd: F.softmax(odd, 1)
sum middle: cube.sum(1)
sum 0 odd: odd.sum(0)
add: x + y
gelu: F.gelu(x)
layer_norm: F.layer_norm(hidden, (768,), row, row)
cross_entropy: F.cross_entropy(classes, target)
embedding: F.embedding(ids, table)
conv2d 3x3: F.conv2d(im56, w3, padding=1)
conv2d 1x1: F.conv2d(im56, w1)
conv2d 3x3 stride: F.conv2d(im28, w3s, stride=2, padding=1)
conv2d 7x7 stride: F.conv2d(im224, w7, stride=2, padding=3)
batch_norm: F.batch_norm(im56, None, None, scale, mean, training=True)
batch_norm eval: F.batch_norm(im56, mean, var.detach(), scale, mean)
attention 512: F.scaled_dot_product_attention(q512, q512, q512, is_causal=True)
attention 2048: F.scaled_dot_product_attention(q2048, q2048, q2048, is_causal=True)
topk: x.topk(50, 1)
sort: x.sort(1)
cumsum: x.cumsum(1)
cumsum 0: x.cumsum(0)
index_select: x.index_select(0, at)
scatter_add: x.scatter_add(1, k, y)
cat: torch.cat([x, y], 1)
transposed copy: x.t().contiguous()
transposed copy odd: odd.t().contiguous()
permuted copy: cube.permute(2, 0, 1).contiguous()
bmm: b3 @ c3
einsum: torch.einsum('bij,bjk->bik', b3, c3)
linear: F.linear(hidden, wide, row)
linear bfloat16: F.linear(h, hw, hb)
"""
USUAL: dict[str, str] = dict(line.split(": ", 1) for line in _USUAL.strip().splitlines())

CASES: dict[str, str] = {
    **{name.rstrip("_"): f"torch.{name.rstrip('_')}({'u' if name.endswith('_') else 'x'})" for name in _POINTWISE.split()},
    **{name: f"F.{name}(x)" for name in _ACTIVATIONS.split()},
    **dict(line.split(": ", 1) for line in _CALLS.strip().splitlines()),
}
