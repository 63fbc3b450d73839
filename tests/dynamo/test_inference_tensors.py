"""is_inference() of what a graph makes: said by the mode that it is made in."""

import pytest

import weft


def answers(x):
    with weft.inference_mode():
        z = x + 1
        view, of_input = z[:1], x[:1]
        z.mul_(2)
    with weft.no_grad():
        y = z * 2
    return z.is_inference(), view.is_inference(), of_input.is_inference(), y.is_inference(), weft.is_inference(x * 2)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_answers_are_those_of_eager(backend):
    x = weft.ones(2)
    assert weft.compile(answers, backend=backend)(x) == answers(x) == (True, True, False, False, False)

    @weft.compile(backend=backend, fullgraph=True)
    def made(x):
        return (x * 2).is_inference()

    assert [made(x) for _ in range(2)] == [False, False]
    with weft.inference_mode():
        assert made(x) is True
        assert weft.compile(answers, backend=backend)(x) == answers(x)
    assert made(x) is False


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_tensor_from_outside_is_asked_and_guarded(backend):
    def f(x):
        return x * 2 if x.is_inference() else x + x[:1].is_inference() + 5

    with weft.inference_mode():
        of_inference = weft.ones(2)
    compiled = weft.compile(f, backend=backend, fullgraph=True)
    for x in (weft.ones(2), of_inference, weft.ones(2), of_inference):
        assert compiled(x).tolist() == f(x).tolist()
    held = [weft.ones(2), of_inference]
    through = weft.compile(lambda: [t.is_inference() for t in held], backend=backend)
    assert through() == [False, True]
    held.reverse()
    assert through() == [True, False]
