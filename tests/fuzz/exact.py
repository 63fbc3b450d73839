"""Random programs in exact mode: compiled equals eager bit for bit, forward and backward.

Of NaNs only the place is compared; the sign of a zero counts.

python -m tests.fuzz.exact --seconds 3600 --seed 0     seeds 0, 1, 2 … until the time is over
python -m tests.fuzz.exact --only 1234                 one seed
"""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

import numpy as np

import weft
from dynamo.breaks import Unsupported
from tests.fuzz import drive
from tests.fuzz.generate import SIZES

FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
UNARY = (
    "neg abs sign exp expm1 log1p sin cos tanh sigmoid erf relu sqrt floor ceil round trunc frac atan sinh reciprocal rsqrt square log "
    "isnan logical_not exp2 asinh silu cos tan asin acos atan acosh atanh cosh erfc erfinv log2 log10 lgamma digamma isfinite signbit"
).split()
BINARY = "add sub mul div maximum minimum fmax fmin atan2 hypot copysign remainder fmod floor_divide pow nextafter logaddexp".split()
INTEGER_BINARY = "add sub mul maximum minimum bitwise_and bitwise_or bitwise_xor pow floor_divide remainder fmod div".split()
REDUCTIONS = "sum mean amax amin prod var std logsumexp softmax log_softmax cumsum cumprod argmax argmin any all norm median".split()
F = "weft.nn.functional."


class Program:
    """One program: `text` of a function `f`, and `inputs` to call it with."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.inputs: list[Any] = []
        self.known: dict[str, Any] = {}
        self.dtype = self.pick(FLOATS)
        self.count = 0
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self.build()

    def pick(self, items):
        return self.random.choice(list(items))

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def build(self) -> None:
        shape = [self.pick([0, 1, *SIZES]) if self.chance(0.1) else self.pick(SIZES) for _ in range(self.pick([0, 1, 2, 2, 3, 3, 4]))]
        while np.prod(shape, dtype=float) > 5000:
            shape[self.random.randrange(len(shape))] = 2
        for _ in range(self.pick([1, 2, 3])):
            self.input(self.some_shape(shape) if self.inputs else shape, self.dtype)
        if self.chance(0.4):
            self.input(self.some_shape(shape), self.pick((*INTEGERS, "bool")))
        if self.chance(0.15):
            self.input(self.some_shape(shape), self.pick(FLOATS))
        names = [f"x{i}" for i in range(len(self.inputs))]
        self.known = {n: t.detach().clone() for n, t in zip(names, self.inputs)}
        steps = self.random.randint(3, 14)
        for _ in range(60):
            if len(self.lines) >= steps:
                break
            self.step()
        made = [n for n in self.known if n not in names] or names[:1]
        results = made[-3:] + [n for n in made[:-3] if self.chance(0.1)]
        owners: dict[int, int] = {}
        for t in self.known.values():
            owners[address(t)] = owners.get(address(t), 0) + 1
        for k, n in enumerate(results):  # of memory that is seen elsewhere, gradients meet outside
            shared = owners[address(self.known[n])] > 1 and self.known[n].dtype.is_floating_point
            results[k] = f"{n}.clone()" if shared else n
        body = "\n".join(f"    {line}" for line in self.lines)
        self.text = f"def f({', '.join(names)}):\n{body}\n    return {', '.join(results)},\n"

    def some_shape(self, shape):
        if self.chance(0.6) or not shape:
            return shape
        return shape[self.random.randrange(len(shape)) :] if self.chance(0.5) else [s if self.chance(0.6) else 1 for s in shape]

    def input(self, shape, dtype: str) -> None:
        if dtype in INTEGERS or dtype == "bool":
            a = self.numpy.integers(0 if dtype == "uint8" else -4, 9, size=shape)
        else:
            a = np.asarray(self.numpy.normal(size=shape) * self.pick([1, 1, 1, 30]))
            if self.chance(0.3):
                a = np.round(a)  # ties and zeros of both signs
        t = weft.tensor(np.asarray(a)).to(getattr(weft, dtype))
        if t.ndim and self.chance(0.3):
            t = self.laid_out(t)
        self.inputs.append(t.requires_grad_(t.dtype.is_floating_point and self.chance(0.7)))

    def laid_out(self, t):
        """The tensor in another order of dims, with gaps, or behind an offset."""
        kind = self.random.random()
        if kind < 0.5:
            return t.transpose(0, -1).contiguous().transpose(0, -1)
        if kind < 0.7:
            order = self.random.sample(range(t.ndim), t.ndim)
            return t.permute(order).contiguous().permute([order.index(d) for d in range(t.ndim)])
        if kind < 0.85:
            return weft.stack([t, t], -1)[..., 1]
        d = self.random.randrange(t.ndim)
        return weft.cat([t, t], d).narrow(d, t.shape[d], t.shape[d])

    def floats(self):
        return [n for n, t in self.known.items() if t.dtype.is_floating_point]

    def integers(self):
        return [n for n, t in self.known.items() if not t.dtype.is_floating_point and t.dtype is not weft.bool]

    def like(self, name: str):
        """Names of tensors that broadcast with one."""
        x = self.known[name]
        return [n for n, t in self.known.items() if t.dtype is x.dtype and broadcast(t.shape, x.shape)]

    def keep(self, expression: str, new: bool = True) -> None:
        """Appends `v = expression` if eager can run it."""
        name = f"v{self.count}"
        line = f"{name} = {expression}" if new else expression
        names = dict(self.known)
        try:
            exec(line, {"weft": weft}, names)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, ZeroDivisionError, OverflowError):
            return
        if new:
            value = names[name]
            if not isinstance(value, weft.Tensor) or value.numel() > 20000 or value.dtype.is_complex:
                return
            self.count += 1
        self.known.update(names)
        self.lines.append(line)

    def step(self) -> None:
        kinds = [self.unary, self.binary, self.number, self.view, self.reduction, self.indexing, self.compare, self.integer, self.layer]
        kinds += [self.unary, self.binary, self.number, self.view, self.mutation, self.product, self.cast]
        kinds += [self.several, self.rare, self.written_view, self.window, self.retyped]
        floats = self.floats()
        kind = self.pick(kinds)
        if floats:
            kind(self.pick(floats if self.chance(0.85) else list(self.known)))

    # ---- steps
    def unary(self, x: str) -> None:
        self.keep(f"weft.{self.pick(UNARY)}({x})")

    def binary(self, x: str) -> None:
        y = self.pick(self.like(x) if self.chance(0.9) else list(self.known))
        self.keep(f"weft.{self.pick(BINARY if self.chance(0.4) else BINARY[:4])}({x}, {y})")

    def number(self, x: str) -> None:
        n = self.pick(["0.1", "2", "3", "-0.5", "0.5", "7", "1.5", "-1", "0", "-0.0", "1e-3", "1/3"])
        self.keep(self.pick([f"{x} {op} {n}" for op in "+-*/"] + [f"{n} {op} {x}" for op in "-*/"] + [
            f"{x} ** {n}", f"{x} // {n}", f"{x} % {n}", f"weft.add({x}, {x}, alpha={n})", f"{x}.clamp(min={n})", f"{x}.clamp({n}, 1.5)"]))  # fmt: skip

    def view(self, x: str) -> None:
        t = self.known[x]
        if not t.ndim:
            return self.keep(f"{x}.reshape(1)")
        d, e = self.random.randrange(t.ndim), self.random.randrange(t.ndim)
        n = t.shape[d]
        k = self.random.randint(0, max(n - 1, 0))
        self.keep(self.pick([
            f"{x}.transpose({d}, {e})", f"{x}.transpose({d}, {e}).contiguous()", f"{x}.reshape(-1)", f"{x}.unsqueeze({d})", f"{x}.squeeze()",
            f"{x}.narrow({d}, {k}, {n - k})", f"{x}.select({d}, {k})", f"{x}.flip({d})", f"{x}[..., ::2]", f"weft.cat([{x}, {x}], {d})",
            f"{x}.roll({k}, {d})", f"{F}pad({x}, (1, 2), value=0.1)", f"{x}.tril()", f"{x}.triu(1)", f"{x}.expand(2, {', '.join(map(str, t.shape))})",
            f"{x}.split({max(n // 2, 1)}, {d})[0]", f"{x}.chunk(2, {d})[-1]", f"weft.stack([{x}, {x}], {d})", f"{x}.diagonal()", f"{x}.unbind({d})[{k}]",
            f"sum({x}.split({max(n // 3, 1)}, {d})[:1], {x}.narrow({d}, 0, {min(max(n // 3, 1), n)}))", f"{x}.repeat_interleave(2, {d})",
            f"{x}.unfold({d}, {min(2, n)}, 1)", f"{x}.movedim({d}, {e})"]))  # fmt: skip

    def reduction(self, x: str) -> None:
        name, t = self.pick(REDUCTIONS), self.known[x]
        d = self.random.randrange(t.ndim) if t.ndim else 0
        if name in ("softmax", "log_softmax", "cumsum", "cumprod", "logsumexp", "argmax", "argmin") and t.ndim:
            return self.keep(f"weft.{name}({x}, {d})")
        if name == "median":
            return self.keep(f"{x}.sort({d})[0]" if self.chance(0.5) else f"{x}.max({d})[{self.pick([0, 1])}]")
        form = self.pick([f"{x}.{name}()", f"{x}.{name}(dim={d})", f"{x}.{name}(dim={d}, keepdim=True)"])
        if self.chance(0.15):
            form = self.pick([f"{x}.sum({d}, dtype=weft.float32)", f"{x}.softmax({d}, dtype=weft.float64)", f"{x}.var({d}, correction=0)", f"{x}.nansum()",
                              f"weft.std_mean({x}, {d})[1]", f"{x}.cummax({d})[0]", f"weft.logcumsumexp({x}, {d})", f"{x}.norm(p=1, dim={d})"])  # fmt: skip
        self.keep(form)

    def indexing(self, x: str) -> None:
        t = self.known[x]
        if not t.ndim or not t.numel():
            return
        d = self.random.randrange(t.ndim)
        n = t.shape[d]
        places = str([self.random.randrange(n) for _ in range(self.random.randint(1, 5))])
        index = f"weft.tensor({places})"
        other = ", ".join(["slice(None)"] * d + [index])
        sizes = ", ".join(["1" if k != d else "-1" for k in range(t.ndim)])
        wide = f"{index}.reshape({sizes}).expand({', '.join(str(s) if k != d else '-1' for k, s in enumerate(t.shape))})"
        source = f"{x}.index_select({d}, {index})"
        self.keep(self.pick([
            source, f"{x}.gather({d}, {wide})", f"{x}[{other}]", f"{x}.scatter_add({d}, {wide}, {source})", f"{x}.index_add({d}, {index}, {source} * 0.5)",
            f"{x}.scatter({d}, {wide}, {source})", f"{x}.index_put(({index},), {x}[{index}], accumulate=True)", f"weft.zeros_like({x}).scatter_add({d}, {wide}, {source})",
            f"{x}.masked_fill({x} > 0, 0.1)", f"{x}.take_along_dim({wide}, {d})", f"{x}.index_fill({d}, {index}, 0.3)",
            f"{x}.scatter_reduce({d}, {wide}, {source}, '{self.pick(['sum', 'amax', 'amin', 'prod', 'mean'])}', include_self={self.chance(0.5)})",
            f"{x}.index_copy({d}, {index}, {source} * 2)", f"{x}.index_add({d}, {index}, {source}, alpha=0.3)", f"{x}.index_put(({index},), {x}[{index}] * 0.5)",
            f"{x}.scatter({d}, {wide}, 0.1)", f"{x}.sort({d})[{self.pick([0, 1])}]", f"{x}.topk({(n + 1) // 2}, {d})[0]"]))  # fmt: skip

    def compare(self, x: str) -> None:
        y = self.pick(self.like(x))
        c = self.pick([f"{x} < {y}", f"{x} >= {y}", f"{x} == {y}", f"{x} > 0", f"({x} + {y}) - {y} == {x}"])
        self.keep(self.pick([f"weft.where({c}, {x}, {y})", f"weft.where({c}, {x}, 0.1)", f"({c}).to({x}.dtype) + {y}", f"{c}"]))

    def integer(self, x: str) -> None:
        mine = self.integers()
        d = self.known[x].ndim - 1
        if not mine or self.chance(0.4):
            return self.keep(self.pick([f"({x} * 3).clamp(-99, 99).nan_to_num().long()", f"weft.arange({self.pick([1, 5, 16])}) * 2**62 > 0",
                                        f"weft.argsort({x}, {d})" if d >= 0 else f"{x}.isfinite()"]))  # fmt: skip
        a = self.pick(mine)
        b = self.pick([n for n in self.like(a)])
        self.keep(self.pick([f"weft.{self.pick(INTEGER_BINARY)}({a}, {b})", f"{a} // 3", f"{a} % -5", f"{a} << 2", f"{a} >> 1", f"{a} ** 2", f"{a} / 3", f"{a}.sum()",
                             f"{a} * 1.1", f"{x} * {a}", f"{a}.exp()", f"{a}.cumsum(0)", f"weft.bitwise_left_shift({a}, {b})", f"{a}.prod()", f"~{a}"]))  # fmt: skip

    def cast(self, x: str) -> None:
        self.keep(f"{x}.to(weft.{self.pick(FLOATS)})" if self.chance(0.8) else f"{x}.nan_to_num().clamp(-99, 99).to(weft.{self.pick(INTEGERS)})")

    def product(self, x: str) -> None:
        t = self.known[x]
        if t.ndim < 2:
            return self.keep(self.pick([f"weft.outer({x}, {x})", f"{x} @ {x}", f"weft.dot({x}, {x})"]))
        y = self.pick(self.like(x))
        self.keep(self.pick([f"{x} @ {x}.transpose(-1, -2)", f"{x}.transpose(-1, -2) @ {x}", f"{x} @ {y}.transpose(-1, -2)", f"{F}linear({x}, {x}.reshape(-1, {t.shape[-1]})[:5])",
                             f"{F}linear({x}, {x}.reshape(-1, {t.shape[-1]})[:3], {x}.reshape(-1)[:3])", f"weft.einsum('...ij,...ij->...i', {x}, {x})"]))  # fmt: skip

    def layer(self, x: str) -> None:
        t = self.known[x]
        if not t.ndim:
            return
        n = t.shape[-1]
        row = f"{x}.reshape(-1, {n})[0]" if t.numel() else "None"
        choices = [f"{F}gelu({x})", f"{F}gelu({x}, approximate='tanh')", f"{F}silu({x})", f"{F}layer_norm({x}, ({n},))", f"{F}layer_norm({x}, ({n},), {row}, {row})",
                   f"{F}rms_norm({x}, ({n},), {row})", f"{F}softplus({x})", f"{F}leaky_relu({x})", f"{F}elu({x})", f"{F}hardswish({x})", f"{F}mse_loss({x}, {x} * 0.5)",
                   f"{F}dropout({x}, 0.3)", f"{x} + weft.rand_like({x})",
                   f"{F}normalize({x}, dim=-1)", f"weft.lerp({x}, {x} * 2, 0.3)", f"weft.addcmul({x}, {x}, {x}, value=0.2)", f"{F}mish({x})", f"{F}smooth_l1_loss({x}, {x}.flip(-1))"]  # fmt: skip
        if t.ndim >= 3:
            choices += [f"{F}scaled_dot_product_attention({x}, {x}, {x}, is_causal={self.chance(0.5)})", f"{F}max_pool1d({x}, 2)", f"{F}avg_pool1d({x}, 2)",
                        f"{F}batch_norm({x}, None, None, training=True)", f"{F}conv1d({x}, {x}.reshape(-1)[:{t.shape[-2] * 2}].reshape(1, {t.shape[-2]}, 2))",
                        f"{F}group_norm({x}, 1)"]  # fmt: skip
        if t.ndim == 4:
            choices += [f"{F}conv2d({x}, {x}[:1])", f"{F}max_pool2d({x}, 2, padding=1)", f"{F}interpolate({x}, scale_factor=2)"]
        if t.ndim == 2:
            choices += [f"{F}cross_entropy({x}, weft.zeros({t.shape[0]}, dtype=weft.int64))", f"{F}embedding(weft.tensor([0, 0, {max(t.shape[0] - 1, 0)}]), {x})"]
        self.keep(self.pick(choices))

    def mutation(self, x: str) -> None:
        y = self.pick(self.like(x))
        leaf = x.startswith("x")
        if leaf and self.inputs[int(x[1:])].requires_grad:
            self.keep(f"{x}.clone()")
            x = f"v{self.count - 1}"
            if x not in self.known:
                return
        forms = [f"{x}.add_({y})", f"{x}.mul_(0.3)", f"{x}.copy_({y})", f"{x}.zero_()", f"{x}.clamp_(min=0)", f"{x}.sub_({y} * 0.1)"]
        if self.known[x].ndim and self.known[x].numel():
            forms += [f"{x}[0].mul_(2)", f"{x}[..., 0] = {y}[..., 0] * 0.7" if self.known[y].ndim else f"{x}[0] = 0.1", f"{x}[:1].add_({x}[:1])", f"{x}.transpose(0, -1)[0].sin_()"]
            forms += [f"{x}.view(-1)[::2].mul_({y}.sum())", f"{x}.masked_fill_({x} > 0, 0.2)", f"{x}.unsqueeze(0)[..., -1].copy_({y}[..., -1])", f"{x}.index_fill_(0, weft.tensor([0]), 0.3)"]
        forms += [f"{x}.add_({y}, alpha=0.3)", f"{x}.div_(3)", f"{x}.copy_({self.pick(self.known)})", f"{x}.detach().add_(1)"]
        self.keep(self.pick(forms), new=False)


    def several(self, x: str) -> None:
        """Reductions over several dims, and scans."""
        n = self.known[x].ndim
        if not n:
            return
        dims = tuple(self.random.sample(range(n), self.random.randint(1, n)))
        d, name = dims[0], self.pick("sum mean amax amin var std logsumexp norm nansum nanmean all any count_nonzero".split())
        forms = [f"weft.{name}({x}, dim={dims}{self.pick(['', ', keepdim=True'])})" for _ in range(6)]
        forms += [f"weft.{form}" for form in (
            f"var_mean({x}, dim={dims})[{self.pick([0, 1])}]", f"cummin({x}, {d})[0]", f"cummax({x}, {d})[1]", f"diff({x}, dim={d})", f"cumsum({x}.flip({d}), {d})",
            f"logcumsumexp({x}, {d})", f"trapezoid({x}, dim={d})", f"aminmax({x}, dim={d})[{self.pick([0, 1])}]", f"kthvalue({x}, 1, {d})[0]", f"mode({x}, {d})[0]",
            f"median({x}, {d})[{self.pick([0, 1])}]", f"linalg.vector_norm({x}, {self.pick(['1', '2', '3', '1e999', '0.5'])}, dim={dims})", f"cumulative_trapezoid({x}, dim={d})",
            f"quantile({x}, 0.3, dim={d})", f"softmax({x}, {d}) @ {x}.transpose(-1, -2)", f"renorm({x}, 2, {d}, 1.5)", f"nanmedian({x}, {d})[0]",
            f"cumsum({x}, {d}).cumprod({dims[-1]})", f"sum({x}.unsqueeze(0) * {x}.unsqueeze(1), dim={dims})")]  # fmt: skip
        self.keep(self.pick(forms))

    def rare(self, x: str) -> None:
        """Ops that programs seldom have."""
        t, y = self.known[x], self.pick(self.like(x))
        d = self.random.randrange(t.ndim) if t.ndim else 0
        how = self.pick(["none", "mean", "sum"])
        forms = [f"{F}{form}" for form in (
            f"celu({x})", f"selu({x})", f"hardtanh({x})", f"hardsigmoid({x})", f"logsigmoid({x})", f"tanhshrink({x})", f"softshrink({x})", f"hardshrink({x})", f"softsign({x})",
            f"relu6({x})", f"threshold({x}, 0.1, 0.3)", f"softmin({x}, {d})", f"glu({x}, {d})", f"prelu({x}, {x}.reshape(-1)[:1])", f"l1_loss({x}, {y}, reduction='{how}')",
            f"huber_loss({x}, {y}, reduction='{how}')", f"kl_div({x}, {y}, reduction='{how}')", f"cosine_similarity({x}, {y}, dim={d})", f"pairwise_distance({x}, {y})",
            f"binary_cross_entropy_with_logits({x}, {y}, reduction='{how}')", f"binary_cross_entropy({x}.sigmoid(), {y}.sigmoid(), reduction='{how}')", f"soft_margin_loss({x}, {y})",
            f"poisson_nll_loss({x}, {y})", f"gaussian_nll_loss({x}, {y}, {y} ** 2)", f"rms_norm({x}, {tuple(t.shape[d:])})", f"layer_norm({x}, {tuple(t.shape[d:])})",
            f"margin_ranking_loss({x}, {y}, {x}.sign())", f"instance_norm({x})", f"local_response_norm({x}, 2)", f"hinge_embedding_loss({x}, {y}.sign())", f"alpha_dropout({x}, 0.3, True)")]  # fmt: skip
        forms += [f"weft.{form}" for form in (
            f"xlogy({x}, {y})", f"sinc({x})", f"logit({x}, 0.1)", f"logaddexp2({x}, {y})", f"heaviside({x}, {y})", f"lerp({x}, {y}, {x})", f"addcdiv({x}, {y}, {x}, value=0.3)",
            f"deg2rad({x})", f"ldexp({x}, {y}.sign())", f"float_power({x}, 2)", f"special.entr({x})", f"special.i0({x})", f"special.log_ndtr({x})", f"special.ndtri({x}.sigmoid())",
            f"special.xlog1py({x}, {y})", f"polygamma(1, {x})", f"erfinv({x}.tanh())", f"dist({x}, {y})", f"diag_embed({x})", f"rot90({x}, 1, (0, {max(t.ndim - 1, 1)}))", f"kron({x}, {x}[:2])",
            f"tensordot({x}, {y}, dims=1)", f"cdist({x}, {x})", f"addmm({x}, {x}, {x}.t())", f"baddbmm({x}.sum(-1, True), {x}, {x}.transpose(1, 2), beta=0.5)", f"bmm({x}, {x}.transpose(1, 2))",
            f"addmv({x}[:, 0], {x}, {x}[0])", f"vander({x})", f"cov({x})", f"clamp({x}, {y}, {x} + 1)", f"nan_to_num({x}, 0.3)", f"einsum('...i,...j->...ij', {x}, {y})", f"inner({x}, {y})",
            f"block_diag({x}, {x})", f"cross({x}, {y}, dim={d})", f"chain_matmul({x}, {x}.t(), {x})", f"tril({x} @ {x}.transpose(-1, -2), 1)", f"tile({x}, (2, 1))", f"i0({x})", f"mvlgamma({x} + 9, 2)",
            f"gradient({x}, dim={d})[0]", f"corrcoef({x})", f"hypot({x}, {y}) + weft.signbit({y})", f"bucketize({x}, weft.tensor([-1.0, 0.0, 1.0], dtype={x}.dtype))", f"frexp({x})[0]")]  # fmt: skip
        self.keep(self.pick(forms))

    def written_view(self, x: str) -> None:
        """Writes into views of views, and by index."""
        t = self.known[x]
        if not t.ndim or not t.numel() or not t.dtype.is_floating_point:
            return
        y, d, e = self.pick(self.like(x)), self.random.randrange(t.ndim), self.random.randrange(t.ndim)
        if self.chance(0.7):
            self.keep(f"{x} * {self.pick([1, 0.5])}" if self.chance(0.5) else f"{x}.clone()")
            x = f"v{self.count - 1}"
            if x not in self.known:
                return
        elif x.startswith("x") and self.inputs[int(x[1:])].requires_grad:
            return
        t, at = self.known[x], f"weft.tensor([0, {self.random.randrange(max(self.known[x].shape[:1] or [1]) or 1)}])"
        self.keep(self.pick([
            f"{x}.transpose({d}, {e}).add_({y}.sum())", f"{x}.select({d}, 0).mul_({y}.mean())", f"{x}.narrow({d}, 0, 1).copy_({y}.sum(-1, True))", f"{x}.diagonal().mul_(0.3)",
            f"{x}.diagonal(0, {d}, {e}).copy_({y}.reshape(-1)[0])", f"{x}.unfold({d}, 1, 2).mul_({y}.sum())", f"{x}.split(2, {d})[0].tanh_()", f"{x}.chunk(2, {d})[-1].sub_({y}.amax())",
            f"{x}.unbind({d})[0].exp_()", f"{x}.view(-1)[1::3].copy_({y}.sum())", f"{x}[{at}] = {y}[{at}] * 0.3", f"{x}[{at}] *= {y}.mean()", f"{x}[{x} > 0] = 0.3", f"{x}[..., ::2] += {y}.sum()",
            f"{x}.movedim({d}, {e})[0].addcmul_({y}.sum(), {y}.mean())", f"{x}.index_add_(0, {at}, {x}[{at}] * 0.5)", f"{x}.index_put_(({at},), {y}.sum(), accumulate=True)", f"{x}.t()[1:].mul_({y}.sum())",
            f"{x}.masked_fill_({y} > 0, {y}.sum())", f"{x}.squeeze().neg_()", f"{x}.permute({tuple(reversed(range(t.ndim)))})[:1].add_({y}.sum())", f"{x}.as_strided((2,), (1,)).mul_({y}.sum())",
            f"{x}.select({d}, -1).copy_({y}.select({d}, 0))", f"{x}.transpose({d}, {e})[:1] = {y}.sum()", f"{x}.index_fill_({d}, {at}, {y}.sum())", f"{x}.scatter_(0, {x}[:1].long() * 0, {y}.sum())",
            f"{x}.expand(1, {', '.join(map(str, t.shape))})[0, 0].mul_(2)", f"{x}.detach().mul_(0.5)", f"{x}.fill_diagonal_(0.3)", f"{x}.clamp_({y}.amin(), 0.5)", f"{x}.lerp_({y}, 0.3)"]), new=False)  # fmt: skip

    def retyped(self, x: str) -> None:
        """The same memory in other dtypes, and results that are written into memory that is given."""
        t, y = self.known[x], self.pick(self.like(x))
        if not t.ndim or not t.numel() or not t.dtype.is_floating_point:
            return
        self.keep(f"{x} * {self.pick([1, 0.5])}" if self.chance(0.7) else f"{x}.detach()")
        x = f"v{self.count - 1}"
        if x not in self.known:
            return
        alike = f"weft.int{8 * t.dtype.itemsize}"
        self.keep(self.pick([
            f"{x}.detach().view({alike}).bitwise_xor_(1)", f"{x}.detach().view(-1).view(weft.uint8)[::{t.dtype.itemsize}].zero_()", f"{x}.detach().view({alike})[:1] = 0",
            f"weft.add({y}.detach(), {y}.detach(), alpha=0.3, out={x}.detach())", f"weft.exp({x}.detach(), out={x}.detach())", f"weft.mul({y}.detach(), 0.3, out={x}.detach().view(-1)[:3])",
            f"weft.sum({y}.detach(), 0, out={x}.detach()[0])", f"weft.cumsum({x}.detach(), 0, out={x}.detach())", f"weft.where({y} > 0, {y}.detach(), 0.3, out={x}.detach())"]), new=False)  # fmt: skip
        self.keep(self.pick([f"{x}.view({alike})", f"{x}.view({alike}) >> 3", f"{x}.view({alike}).view(weft.{t.dtype.name})", f"{x}.view(weft.uint8)", f"({x}.view({alike}) & 255).sum()"]))

    def window(self, x: str) -> None:
        """Convolutions, pools, attention, and what else looks at neighbours."""
        t = self.known[x]
        if t.ndim < 2 or not t.numel() or t.ndim > 4:
            return
        flat, stride, dilation, padding = f"{x}.reshape(-1)", self.pick([1, 1, 2]), self.pick([1, 1, 2]), self.pick([0, 1, 2])
        more, n = f"stride={stride}, padding={padding}, dilation={dilation}", max(t.ndim - 2, 1)  # (of two dims: without a batch)
        channels = t.shape[-1 - n]
        groups = self.pick([1, 1, channels])
        k = self.pick([1, 2, 3])
        weight = f"{flat}[:{2 * groups * max(channels // groups, 1) * k**n}].reshape({', '.join(map(str, (2 * groups, max(channels // groups, 1), *[k] * n)))})"
        turned = f"{flat}[:{channels * 2 * k**n}].reshape({', '.join(map(str, (channels, 2, *[k] * n)))})"
        forms = [f"conv{n}d({x}, {weight}, {self.pick(['None', f'{flat}[:{2 * groups}]'])}, {more}, groups={groups})", f"conv_transpose{n}d({x}, {turned}, {more})",
                 f"max_pool{n}d({x}, {k}, {stride}, {min(padding, k // 2)})", f"avg_pool{n}d({x}, {k}, {stride}, {min(padding, k // 2)}, count_include_pad={self.chance(0.5)})",
                 f"adaptive_avg_pool{n}d({x}, 2)", f"adaptive_max_pool{n}d({x}, 2)", f"lp_pool{n}d({x}, 2, {k})", f"pad({x}, {(1, 1) * n}, mode='{self.pick(['reflect', 'replicate', 'circular'])}')",
                 f"interpolate({x}, scale_factor={self.pick([2, 0.5, 1.5])}, mode='{self.pick(['nearest', 'linear', 'bilinear', 'bicubic', 'area', 'nearest-exact'])}')",
                 f"group_norm({x}, {self.pick([1, channels])}, {flat}[:{channels}], {flat}[:{channels}])", f"batch_norm({x}, {flat}[:{channels}].detach().clone(), {flat}[:{channels}].detach().square(), {flat}[:{channels}])",
                 f"unfold({x}, {k}, padding={padding})", f"pixel_shuffle({x}, 2)", f"pixel_unshuffle({x}, 2)", f"instance_norm({x})", f"embedding_bag(weft.tensor([0, 0, 1, 0]).remainder({t.shape[0]}), {x}, weft.tensor([0, 2]))"]  # fmt: skip
        if t.ndim > 2:
            score = self.pick([f"{x} @ {x}.transpose(-1, -2)", f"weft.ones({t.shape[-2]}, {t.shape[-2]}, dtype=weft.bool).tril()", "None"])
            forms += [f"scaled_dot_product_attention({x}, {x} * 0.5, {x} + 1, {score})", f"scaled_dot_product_attention({x}, {x}.flip(-1), {x}[..., :1].expand({x}.shape), {score}, scale=0.3)"] * 2  # fmt: skip
        self.keep(F + self.pick(forms))


def address(t) -> int:
    """Where the memory begins that a tensor is in."""
    return t.untyped_storage().data_ptr()


def broadcast(a, b) -> bool:
    return all(s == t or s == 1 or t == 1 for s, t in zip(reversed(tuple(a)), reversed(tuple(b))))


def bits(t) -> np.ndarray:
    """What is compared of a tensor: NaNs are all alike."""
    a = t.detach().numpy(force=True)
    if a.dtype.kind in "iub":
        return a
    u = np.array(a, order="C").reshape(-1).view(f"u{a.dtype.itemsize}")
    u[np.isnan(a.astype("f8")).reshape(-1)] = 0
    return u.reshape(a.shape)


def as_floats(a: np.ndarray, dtype: str) -> np.ndarray:
    """Integers that show the memory of floats, with NaNs all alike: which of them an operation gives is not promised."""
    kind = weft.empty(0, dtype=getattr(weft, dtype)).numpy(force=True).dtype
    if a.dtype.kind not in "iu" or not a.ndim or a.shape[-1] * a.itemsize % kind.itemsize:
        return a
    floats = np.array(a, order="C").view(kind)
    floats[np.isnan(floats.astype("f8"))] = 0
    return floats.view(a.dtype)


def copy(t):
    """A tensor of the same layout."""
    t = t.detach()
    if t.is_contiguous() or not t.numel():
        return t.clone()
    span = 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
    return t.as_strided([span], [1]).clone().as_strided(list(t.shape), list(t.stride()))


def gradient(result, numbers):
    """A random gradient of a result: row-major, in another order of dims, with gaps, or one number for all."""
    kind, sizes = numbers.random(), tuple(result.shape)
    if kind < 0.1:
        return weft.tensor(numbers.normal()).to(result.dtype).expand(list(sizes))
    g = weft.tensor(np.asarray(numbers.normal(size=sizes))).to(result.dtype)
    if kind < 0.7 or len(sizes) < 2:
        return g
    if kind < 0.75:  # with gaps
        return weft.stack([g, g], -1)[..., 0]
    order = numbers.permutation(len(sizes)).tolist() if kind < 0.85 else [len(sizes) - 1, *range(1, len(sizes) - 1), 0]
    return g.permute(order).contiguous().permute([order.index(d) for d in range(len(sizes))])


def run(f, inputs, seed: int) -> list:
    """Results, written inputs and gradients, in order."""
    own = [copy(t).requires_grad_(t.requires_grad) for t in inputs]
    leaves = [t for t in own if t.requires_grad]
    weft.manual_seed(seed)
    results = f(*own)
    numbers = np.random.default_rng(seed)
    roots = [r for r in results if isinstance(r, weft.Tensor) and r.requires_grad]
    grads = []
    if roots:
        roots = [r for r in roots if numbers.random() < 0.9] or roots[:1]
        seeds = [gradient(r, numbers) for r in roots]
        grads = list(weft.autograd.grad(roots, leaves, seeds, allow_unused=True))
    return [*results, *own, *grads]


def difference(program: Program, seed: int, threads: int = 1, dynamic: bool = False) -> str | None:
    """What differs, or None."""
    space: dict[str, Any] = {"weft": weft}
    exec(program.text, space)
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                want = run(space["f"], program.inputs, seed)
            except (RuntimeError, NotImplementedError):
                return None  # (a backward that eager refuses)
            f = weft.compile(space["f"], dynamic=dynamic or None, fullgraph=True, options={"exact": True})
            try:
                got = run(f, program.inputs, seed)
            except Unsupported:
                return None  # (in two frames gradients meet between them)
    finally:
        weft.set_num_threads(before)
        weft.compiler.reset()
    for k, (a, b) in enumerate(zip(got, want, strict=True)):
        if (a is None) != (b is None) or (a is not None and a.dtype is not b.dtype):
            return f"value {k}: {a} instead of {b}"
        if a is None:
            continue
        x, y = bits(a), bits(b)
        if x.shape == y.shape and "view(weft." in program.text and (x != y).any():
            x, y = as_floats(x, program.dtype), as_floats(y, program.dtype)
        if x.shape != y.shape or (x != y).any():
            bad = np.argwhere(x != y)[:1].tolist() if x.shape == y.shape else (x.shape, y.shape)
            at = tuple(bad[0]) if x.shape == y.shape else ()
            return f"value {k} of {len(got)} ({a.dtype}), {int((x != y).sum())} of {x.size}: at {at} {a.detach().numpy(force=True)[at]!r} instead of {b.detach().numpy(force=True)[at]!r}"
    return None


def check(seed: int) -> tuple[str, str] | None:
    """On one thread or two, every fifth program with sizes that are symbols."""
    program = Program(seed)
    try:
        found = difference(program, seed, threads=1 + seed % 2, dynamic=seed % 5 == 4)
    except Exception as e:  # reported with its program
        found = f"{type(e).__name__}: {str(e)[:300]}"
    return None if found is None else (f"seed {seed}", f"{found}\n{program.text}")


if __name__ == "__main__":
    sys.exit(drive.main("tests.fuzz.exact", check))
