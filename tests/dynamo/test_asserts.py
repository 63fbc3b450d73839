"""`assert` on tensors in compiled functions: part of the graph, and AssertionError where it fails."""

import pytest

import weft
from dynamo.testing import CompileCounterWithBackend
from tests.dynamo.asserted import after_a_change, by_function, caught, counter_of_calls, formatted, with_text, without


def outcome(function, x):
    counter_of_calls.calls = 0
    try:
        return [round(v, 4) for v in function(x).tolist()], counter_of_calls.calls
    except AssertionError as e:
        return str(e), counter_of_calls.calls


GRAPHS = {with_text: 1, without: 1, by_function: 1, caught: None, after_a_change: None, formatted: None}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("function", GRAPHS)
def test_asserts_hold_or_raise_as_in_python(function, backend):
    counter = CompileCounterWithBackend(backend)
    compiled = weft.compile(function, backend=counter)
    for values in ([3.0, 4.0], [-3.0, 1.0], [3.0, 8.0]):
        x = weft.tensor(values)
        assert outcome(compiled, x) == outcome(function, x)
    assert GRAPHS[function] in (None, counter.frame_count)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_asserts_of_what_is_trained(backend):
    compiled = weft.compile(lambda x: without(x).sum(), backend=backend, fullgraph=True)
    x = weft.ones(3, requires_grad=True)
    compiled(x).backward()
    assert x.grad.tolist() == [1.0] * 3
    with pytest.raises(AssertionError):
        compiled(-weft.ones(3, requires_grad=True))


def test_asserts_in_exported_graphs_raise_runtime_errors():
    graph, _ = weft._dynamo.export(with_text)(weft.tensor([3.0, 4.0]))
    assert weft.allclose(graph(weft.tensor([3.0, 1.0])), with_text(weft.tensor([3.0, 1.0])))
    with pytest.raises(RuntimeError, match="the first is 3"):
        graph(weft.tensor([2.0, 1.0]))


def test_a_signal_comes_back_in_one_graph_and_bad_windows_are_told():
    def there_and_back(x, window):
        return weft.istft(weft.stft(x, 16, 4, 16, window, return_complex=True), 16, 4, 16, window, length=x.shape[-1])

    x = weft.arange(40.0).sin()
    compiled = weft.compile(there_and_back, fullgraph=True)
    weft.testing.assert_close(compiled(x, weft.hann_window(16)), x)
    with pytest.raises(RuntimeError, match="do not cover"):
        compiled(x, weft.zeros(16))
