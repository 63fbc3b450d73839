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


def made_inside(x, w):
    with weft.inference_mode():
        y = x * 2
        part, of_input = y[0], x.view(-1)
    return y, part, of_input, {"z": x + 1, "t": y + 1}


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_results_are_of_the_mode_that_they_were_made_in(backend, fullgraph):
    w = weft.ones(2, requires_grad=True)

    def told(f):
        *made, rest = f(weft.ones(2), w)
        made += rest.values()
        answers = [(t.is_inference(), t.requires_grad, t.tolist()) for t in made]
        for act in (lambda: made[0].add_(1), lambda: made[0].requires_grad_(), lambda: made[0] * w, lambda: made[3] * w):
            try:
                answers.append(act().tolist())
            except RuntimeError as e:
                answers.append(str(e))
        return answers

    compiled = weft.compile(made_inside, backend=backend, fullgraph=fullgraph)
    assert told(compiled) == told(made_inside)
    with weft.inference_mode():
        assert told(compiled) == told(made_inside)
    assert told(compiled) == told(made_inside)


@pytest.mark.parametrize("use", [lambda y, w: y * w, lambda y, w: y + w, lambda y, w: y.add_(1), lambda y, w: y.requires_grad_()])
def test_what_eager_refuses_of_them_is_refused(use):
    def f(x, w):
        with weft.inference_mode():
            y = x * 2
        return use(y, w)

    def answer(f):
        try:
            result = f(weft.ones(2), weft.ones(2, requires_grad=True))
            return result.tolist(), result.requires_grad
        except RuntimeError as e:
            return str(e)

    assert answer(weft.compile(f)) == answer(f)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_tensor_of_inference_mode_is_refused_by_what_was_compiled_without(backend):
    compiled = weft.compile(lambda w, x: (w * x).sum(), backend=backend)
    w = weft.ones(2, requires_grad=True)
    with weft.inference_mode():
        of_inference = weft.ones(2)
    for _ in range(2):
        assert compiled(w, weft.ones(2)).item() == 2
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            compiled(w, of_inference)
    with weft.no_grad():
        assert compiled(w, of_inference).item() == 2
