"""Sizes and numbers that depend on data."""

import weft
import weft.nn.functional as F
from tests.review.harness import prog

T = weft.tensor
X = [T([1.0, 0, 2, -1]), T([0.0, 0, 0, 0]), T([3.0]), T([]), T([1.0, 2, 3, 4, 5, 6]), T([-1.0, -2])]


def seq(C, f, *inputs):
    c = C(f)
    out = []
    for a in inputs:
        a = a if isinstance(a, tuple) else (a,)
        try:
            out.append(c(*a))
        except (RuntimeError, IndexError, ValueError, ZeroDivisionError) as e:
            out.append(type(e).__name__)
    return out


@prog
def nz_branch(C):
    def f(x):
        y = x[x > 0]
        if y.numel() == 0:
            return x.sum() - 1
        return y.mean()

    return seq(C, f, *X)


@prog
def nz_len_loop(C):
    def f(x):
        n = (x > 0).sum().item()
        s = x.new_zeros(())
        for i in range(n):
            s = s + i
        return s, n

    return seq(C, f, *X)


@prog
def item_index(C):
    def f(x):
        i = int(x.abs().sum().item())
        return weft.arange(10)[i], i + 1

    return seq(C, f, *X)


@prog
def item_slice(C):
    def f(x, n):
        k = n.item()
        return x[:k], x[k:], x[-k:], x[k : k + 2]

    return seq(C, f, *[(x, T(k)) for x in X for k in (0, 1, 2, 5, -1, -3)])


@prog
def item_float(C):
    def f(x):
        s = x.sum().item()
        return x * s, s * 2, s // 2, s > 1, str(s)

    return seq(C, f, *X)


@prog
def item_arith(C):
    def f(x, n):
        k = n.item()
        return (
            k // 3,
            k % 3,
            -k,
            abs(k),
            k**2,
            divmod(k, 4),
            min(k, 3),
            max(k, 0),
            k << 1,
            bool(k),
            float(k),
            k / 2,
            round(k),
            hash(k),
        )

    return seq(C, f, *[(X[0], T(k)) for k in (7, -7, 0, 5)])


@prog
def zeros_of_item(C):
    def f(n):
        return weft.zeros(n.item()), weft.ones(n.item(), 2).sum(), weft.arange(n.item()), weft.full((n.item(),), 7)

    return seq(C, f, T(3), T(0), T(1), T(5), T(-1))


@prog
def item_eq(C):
    def f(x, n):
        k = n.item()
        if k == 3:
            return x + 1
        elif k > 5:
            return x + 2
        return x + 3

    return seq(C, f, *[(X[0], T(k)) for k in (3, 7, 1, 3, -2, 9)])


@prog
def item_dict(C):
    d = {1: "one", 2: "two"}

    def f(x, n):
        return x + 1, d.get(n.item(), "none")

    return seq(C, f, *[(X[0], T(k)) for k in (1, 2, 3, 1)])


@prog
def item_list(C):
    def f(x, n):
        l = [10, 20, 30]
        return x * l[n.item()]

    return seq(C, f, *[(X[0], T(k)) for k in (0, 1, 2, -1, 5)])


@prog
def item_repeat(C):
    def f(x, n):
        return [1] * n.item(), "ab" * n.item(), x.repeat(n.item()), (x,) * n.item()

    return seq(C, f, *[(X[0], T(k)) for k in (0, 1, 2, 3)])


@prog
def item_format(C):
    def f(x, n):
        return f"{n.item():03d} {n.item()!r} {x.shape[0]}", x + 1

    return seq(C, f, *[(X[0], T(k)) for k in (0, 1, 2)])


@prog
def masked_then_matmul(C):
    def f(x):
        y = x[x != 0]
        return y.unsqueeze(0) @ y.unsqueeze(1), y.outer(y)

    return seq(C, f, *X)


@prog
def nonzero_gather(C):
    def f(x):
        i = x.nonzero().squeeze(1)
        return x[i], x.index_select(0, i), weft.zeros_like(x).scatter(0, i, 1.0)

    return seq(C, f, *X)


@prog
def unique_inverse(C):
    def f(x):
        u, inv, c = weft.unique(x, return_inverse=True, return_counts=True)
        return u[inv], c.sum(), u.shape[0] == x.shape[0]

    return seq(C, f, *X)


@prog
def two_masks_add(C):
    def f(x):
        return x[x > 0] + x[x > 0] * 2

    return seq(C, f, *X)


@prog
def two_masks_mismatch(C):
    def f(x):
        return x[x > 0] + x[x < 0]

    return seq(C, f, *X)


@prog
def two_masks_cat_reshape(C):
    def f(x):
        y = weft.cat([x[x > 0], x[x <= 0]])
        return y.reshape(x.shape), y.view(-1)

    return seq(C, f, *X)


@prog
def mask_reshape2(C):
    def f(x):
        y = x[x > 0]
        return y.reshape(2, -1)

    return seq(C, f, *X)


@prog
def mask_first(C):
    def f(x):
        y = x[x > 0]
        return y[0], y[-1]

    return seq(C, f, *X)


@prog
def mask_max(C):
    def f(x):
        return x[x > 0].max()

    return seq(C, f, *X)


@prog
def mask_softmax(C):
    def f(x):
        return x[x > 0].softmax(0), x[x > 0].cumsum(0), x[x > 0].sort().values

    return seq(C, f, *X)


@prog
def mask_bool_of_shape(C):
    def f(x):
        y = x[x > 0]
        return bool(y.shape[0]), len(y), not y.shape[0], y.shape == (1,), list(y.shape), tuple(y.size())

    return seq(C, f, *X)


@prog
def mask_setitem(C):
    def f(x):
        x = x.clone()
        x[x > 0] = 5
        x[x < 0] += 1
        x[x == 0] = x[x == 0] + 2
        return x

    return seq(C, f, *X)


@prog
def mask_put_values(C):
    def f(x):
        z = weft.zeros_like(x)
        z[x > 0] = x[x > 0] * 2
        return z

    return seq(C, f, *X)


@prog
def mask_put_wrong(C):
    def f(x):
        z = weft.zeros_like(x)
        z[x > 0] = weft.ones(2)
        return z

    return seq(C, f, *X)


@prog
def split_sizes(C):
    def f(x, n):
        a, b = x.split([n.item(), x.shape[0] - n.item()])
        return a, b

    return seq(C, f, *[(X[0], T(k)) for k in (0, 1, 2, 4, 5, -1)])


@prog
def expand_item(C):
    def f(x, n):
        return x.sum().expand(n.item()), x[:1].expand(n.item()), x[:, None].expand(-1, n.item())

    return seq(C, f, *[(X[0], T(k)) for k in (0, 1, 2, 4)])


@prog
def repeat_interleave(C):
    def f(x):
        return weft.repeat_interleave(x, x.long().clamp(0)), weft.repeat_interleave(x.long().clamp(0))

    return seq(C, f, *X)


@prog
def while_data(C):
    def f(x):
        y = x[x > 0]
        n = 0
        while y.numel() > 1 and n < 5:
            y = y[1:]
            n += 1
        return y, n

    return seq(C, f, *X)


@prog
def assert_data(C):
    def f(x):
        y = x[x > 0]
        assert y.shape[0] > 1, "few"
        return y

    c = C(f)
    out = []
    for x in X:
        try:
            out.append(c(x))
        except AssertionError as e:
            out.append(str(e))
    return out


@prog
def check(C):
    def f(x, n):
        k = n.item()
        weft._check(k >= 0)
        weft._check(k <= x.shape[0])
        return x[:k]

    return seq(C, f, *[(X[0], T(k)) for k in (0, 1, 2, 4, 5, -1)])


@prog
def bincount(C):
    def f(x):
        return weft.bincount(x.long().clamp(0)), weft.bincount(x.long().clamp(0), minlength=3).shape[0]

    return seq(C, f, *X)


@prog
def where1(C):
    def f(x):
        (i,) = weft.where(x > 0)
        return i, x[i]

    return seq(C, f, *X)


@prog
def nested_mask(C):
    def f(x):
        y = x[x > 0]
        z = y[y > 1]
        return z, z.shape[0] <= y.shape[0], y.shape[0] - z.shape[0]

    return seq(C, f, *X)


@prog
def mask_grad(C):
    def f(x):
        y = x[x > 0]
        return (y * y).sum()

    c = C(f)
    out = []
    for x in X:
        x = x.clone().requires_grad_()
        r = c(x)
        r.backward()
        out.append((r.detach(), x.grad))
    return out


@prog
def item_mutates_list(C):
    log = []

    def f(x, n):
        log.append(n.item())
        return x + 1

    r = seq(C, f, *[(X[0], T(k)) for k in (0, 1, 2)])
    return r, log


@prog
def item_global_attr(C):
    class S:
        total = 0

    def f(x, n):
        S.total += n.item()
        return x + S.total

    r = seq(C, f, *[(X[0], T(k)) for k in (1, 1, 2)])
    return r, S.total


@prog
def item_bool(C):
    def f(x, b):
        if b.item():
            return x + 1
        return x - 1

    return seq(C, f, *[(X[0], T(k)) for k in (True, False, True)])


@prog
def tolist(C):
    def f(x):
        l = x.tolist()
        return sum(l), len(l), l[::-1], x + 1

    return seq(C, f, *X)


@prog
def item_kw(C):
    def f(x, *, k):
        return F.pad(x, (k.item(), 1)), x.roll(k.item()), x.narrow(0, k.item(), 1)

    c = C(f)
    out = []
    for k in (0, 1, 2, 7):
        try:
            out.append(c(X[0], k=T(k)))
        except (RuntimeError, IndexError) as e:
            out.append(type(e).__name__)
    return out


@prog
def nonzero_loop(C):
    def f(x):
        out = []
        for i in x.nonzero():
            out.append(x[i] * 2)
        return out

    return seq(C, f, *X)


@prog
def iter_mask(C):
    def f(x):
        return [v + 1 for v in x[x > 0]], [*x[x > 0]], list(map(lambda v: v * 2, x[x > 0]))

    return seq(C, f, *X)


@prog
def unbind_mask(C):
    def f(x):
        parts = x[x > 0].unbind()
        return len(parts), sum(parts)

    return seq(C, f, *X)


@prog
def chunk_mask(C):
    def f(x):
        return [c.sum() for c in x[x > 0].chunk(2)], [c.shape[0] for c in x[x > 0].split(2)]

    return seq(C, f, *X)


@prog
def item_neg_idx(C):
    def f(x, n):
        k = n.item()
        return x[k], x.select(0, k), x[k : k + 1]

    return seq(C, f, *[(X[0], T(k)) for k in (0, 3, -1, -4, 4, -5)])


@prog
def max_item(C):
    def f(x):
        m = x.abs().max().item()
        return weft.linspace(0, 1, int(m) + 1), x / m if m else x

    return seq(C, f, *X)


@prog
def stack_masks(C):
    def f(x):
        return weft.stack([x[x > 0], x[x > 0]]), weft.stack([x[x > 0], x[x < 0]])

    return seq(C, f, *X)


@prog
def broadcast_mask(C):
    def f(x):
        return x[x > 0][:, None] * x[None], x[x > 0] * x

    return seq(C, f, *X)


@prog
def eq_shapes(C):
    def f(x, y):
        a, b = x[x > 0], y[y > 0]
        if a.shape == b.shape:
            return a + b
        return a.sum() + b.sum()

    return seq(C, f, *[(p, q) for p in X[:4] for q in X[:4]])


@prog
def numpy_mask(C):
    def f(x):
        a = x[x > 0].numpy()
        return a.shape, a.sum(), a * 2

    return seq(C, f, *X)


@prog
def item_to_ctor(C):
    def f(x, n):
        return weft.tensor(n.item()) + x, weft.tensor([n.item(), 1]), weft.full_like(x, n.item())

    return seq(C, f, *[(X[0], T(k)) for k in (0, 3, -1)])


@prog
def item_range(C):
    def f(x, n):
        return [i * x for i in range(n.item())], list(range(0, n.item(), 2)), sum(range(n.item()))

    return seq(C, f, *[(X[0], T(k)) for k in (0, 3, 1)])


@prog
def item_in(C):
    def f(x, n):
        return n.item() in (1, 2, 3), n.item() in {5}, [1, 2].count(n.item()), x + 1

    return seq(C, f, *[(X[0], T(k)) for k in (0, 3, 1, 5)])


@prog
def cond_data(C):
    def f(x):
        y = x[x > 0]
        return weft.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,)), y

    return seq(C, f, *X)
