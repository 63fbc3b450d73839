"""Functions that run while the code around them is compiled: what they do with Proxies is done by the program."""

import io

from weft._dynamo.comptime import comptime

import weft
from weft import fx

seen: list = []
out = io.StringIO()


def test_proxies_record_into_the_graph():
    def f(x, pair):
        y, n = x * 2, 3

        @comptime
        def _(ctx):
            y, pair = ctx.get_local("y").as_proxy(), ctx.get_local("pair").as_proxy()
            seen.append((isinstance(y, fx.Proxy), ctx.get_local("n").as_proxy(), type(pair), isinstance(pair[0], fx.Proxy)))
            total = y + pair[0].sum(-1) * 4
            seen.append(total.node.meta["val"].sizes)
            ctx.print_graph(verbose=False, file=out)

        return y + n

    seen.clear()
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = weft.compile(f, backend=backend, fullgraph=True)
    x, pair = weft.ones(2), (weft.ones(2, 3), weft.ones(2))
    assert compiled(x, pair).tolist() == [5, 5]
    assert seen == [(True, 3, tuple, True), (2,)]
    assert [line.split()[0] for line in out.getvalue().splitlines()[-4:]] == ["mul", "sum", "mul_1", "add"]
    assert len(graphs) == 1
