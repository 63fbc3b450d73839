"""Autograd: modes, hooks, functions with their own backward, transforms."""

import weft
from tests.review.harness import prog, told, x0


@prog
def nested_no_grad(C):
    def f(x):
        with weft.no_grad():
            y = x * 2
            with weft.enable_grad():
                z = x * 3
            w = x * 4
        return y, z, w, x * 5, weft.is_grad_enabled()

    a = weft.ones(2, requires_grad=True)
    return C(f)(a)


@prog
def no_grad_break(C):
    def f(x):
        with weft.no_grad():
            y = x * 2
            print(weft.is_grad_enabled())
            z = x * 3
        return y, z, x * 5

    a = weft.ones(2, requires_grad=True)
    f = C(f)
    r = f(a)
    with weft.no_grad():
        s = f(a)
    return r, s


@prog
def no_grad_decorator(C):
    @weft.no_grad()
    def g(x):
        return x * 2

    f = C(lambda x: g(x) + x)
    a = weft.ones(2, requires_grad=True)
    return f(a), C(g)(a)


@prog
def set_grad_enabled_leak(C):
    def f(x):
        weft.set_grad_enabled(False)
        return x * 2

    a = weft.ones(2, requires_grad=True)
    r = C(f)(a)
    s = weft.is_grad_enabled()
    weft.set_grad_enabled(True)
    return r, s


@prog
def tensor_hooks(C):
    log = []
    w = weft.ones(4, requires_grad=True)
    w.register_hook(lambda g: log.append(g.tolist()) or g * 10)
    f = C(lambda x: (x * w).sum())
    f(x0()).backward()
    return log, w.grad


@prog
def register_hook_inside(C):
    log = []

    def f(x, w):
        y = x * w
        y.register_hook(lambda g: g * 3)
        return y.sum()

    w = weft.ones(4, requires_grad=True)
    C(f)(x0(), w).backward()
    return w.grad


@prog
def retain_grad_inside(C):
    def f(w):
        y = w * 2
        y.retain_grad()
        return y, (y * 3).sum()

    w = weft.ones(4, requires_grad=True)
    y, l = C(f)(w)
    l.backward()
    return y.grad, w.grad


@prog
def custom_function(C):
    class Sq(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            ctx.k = k
            return x * x * k

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x * ctx.k + 100, None

    def f(x):
        y = x + 1
        z = Sq.apply(y, 3)
        return z.sum() * 2

    x = x0().requires_grad_()
    r = C(f)(x)
    r.backward()
    return r, x.grad


@prog
def vmap_inside(C):
    def f(x):
        return weft.vmap(lambda r: r * r.sum())(x) + 1

    return C(f)(weft.arange(6.0).reshape(2, 3))


@prog
def grad_inside(C):
    def f(x):
        return weft.func.grad(lambda r: (r**3).sum())(x) + 1

    return C(f)(x0())


@prog
def jacrev_hessian_inside(C):
    def f(x):
        return weft.func.jacrev(lambda r: r**2)(x), weft.func.hessian(lambda r: (r**3).sum())(x)

    return C(f)(x0())


@prog
def autograd_grad_inside(C):
    def f(x):
        y = (x**3).sum()
        (g,) = weft.autograd.grad(y, x, create_graph=True)
        return g * 2

    return C(f)(x0().requires_grad_())


@prog
def backward_inside(C):
    w = weft.ones(4, requires_grad=True)

    def step(x):
        l = (x * w).sum()
        l.backward()
        with weft.no_grad():
            w.sub_(w.grad * 0.1)
        w.grad = None
        return l.detach()

    s = C(step)
    return [s(x0()) for _ in range(3)], w


@prog
def inference_mode(C):
    f = C(lambda x: x * 2)
    with weft.inference_mode():
        a = f(x0())
    b = f(x0())
    w = weft.ones(4, requires_grad=True)
    with weft.inference_mode():
        c = f(w)
    return a, b, c, f(w), a.is_inference() if hasattr(a, "is_inference") else None


@prog
def words_of_transforms_about_sizes(C):
    three = weft.ones(3)
    fs = [
        lambda x: told(lambda: weft.func.vmap(lambda a, b: a + b)(x, three)),
        lambda x: told(lambda: weft.func.jvp(lambda a: a.sin(), (x,), (three,))),
        lambda x: told(lambda: weft.func.vjp(lambda a: a.sin(), x)[1](three)),
        lambda x: told(lambda: weft.func.linearize(lambda a: a.sin(), x)[1](three)),
    ]
    return [[c(weft.ones(n)) for n in (4, 5, 6)] for c in map(C, fs)]
