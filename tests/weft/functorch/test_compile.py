"""Functions compiled by compilers of core graphs."""

import pytest

import weft
from weft import nn
from weft._functorch import config
from weft.functorch.compile import aot_function, aot_module, aot_module_simplified, make_boxed_compiler, nop, print_compile


def test_forward_and_backward_have_their_compilers(capsys):
    seen = []

    def keep(name):
        def compiler(gm, metas):
            seen.append(name)
            return gm.forward

        return make_boxed_compiler(compiler)

    compiled = aot_function(lambda x: x.sin() * 2, fw_compiler=keep("fw"), bw_compiler=keep("bw"))
    x = weft.ones(3, requires_grad=True)
    compiled(x).sum().backward()
    weft.testing.assert_close(x.grad, 2 * weft.ones(3).cos())
    assert seen == ["fw", "bw"]
    aot_function(lambda x: x + 1, print_compile)(weft.ones(2))
    assert "def forward" in capsys.readouterr().out
    with pytest.raises(NotImplementedError, match="min_cut"):
        aot_function(lambda x: x, nop, partition_fn=lambda *a: None)


def test_modules_and_graphs():
    net, x = nn.Linear(2, 3), weft.randn(4, 2)
    weft.testing.assert_close(aot_module(net, nop)(x), net(x))
    weft.testing.assert_close(aot_module_simplified(net, (x,), nop)(x), net(x))
    gm = weft._dynamo.export(lambda x: x * 2 + 1, same_signature=False)(x).graph_module._graph_module
    (out,) = aot_module_simplified(gm, (x,), nop)(x)
    weft.testing.assert_close(out, x * 2 + 1)


def test_what_compilers_return_is_checked_where_asked():
    def wrong(gm, metas):
        return lambda *inputs: (weft.ones(7),)

    with config.patch(debug_assert=True), pytest.raises(AssertionError, match="output 0 of a compiled graph"):
        aot_function(lambda x: x + 1, wrong)(weft.ones(2))
    assert aot_function(lambda x: x + 2, wrong)(weft.ones(2)).shape == (7,)
    with pytest.raises(AttributeError, match="no setting 'other'"):
        config.other = 1
