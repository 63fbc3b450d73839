"""Names and arguments that model code takes from places of PyTorch."""

import warnings

import pytest

import weft


def test_gradients_by_only_inputs_and_of_a_dict():
    x, y = weft.ones(2, requires_grad=True), weft.full((2,), 3.0, requires_grad=True)
    z = (x * y).sum()
    assert weft.autograd.grad(z, x, None, True, False, True)[0].tolist() == [3, 3]
    found = weft.autograd.grad(z, {"a": x, "b": y}, retain_graph=True)
    assert {name: g.tolist() for name, g in found.items()} == {"a": [3, 3], "b": [1, 1]}
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        weft.autograd.grad(z, x, only_inputs=False, retain_graph=True)
    z.backward(inputs={"a": x})
    assert x.grad.tolist() == [3, 3] and y.grad is None


def test_a_gradient_penalty_is_one_graph():
    def penalty(x):
        d = (x**3).sum()
        g = weft.autograd.grad(outputs=d, inputs=x, grad_outputs=weft.ones_like(d), create_graph=True, only_inputs=True)[0]
        return (g.norm(2) - 1) ** 2

    x = weft.tensor([0.5, -1.0], requires_grad=True)
    want, got = penalty(x), weft.compile(penalty, fullgraph=True, backend="eager")(x)
    assert got.item() == pytest.approx(want.item())


@pytest.mark.parametrize("dtype", [weft.uint8, weft.int16, weft.int32, weft.int64, weft.float16])
@pytest.mark.parametrize("scan", [weft.cumsum, weft.cumprod])
def test_running_sums_come_in_the_dtype_asked_for(scan, dtype):
    found = scan(weft.tensor([1, 2, 100], dtype=weft.uint8), 0, dtype=dtype)
    assert found.dtype is dtype and found.tolist() == ([1, 3, 103] if scan is weft.cumsum else [1, 2, 200])


def test_a_progress_bar_where_tqdm_is_not_installed(capsys):
    from weft.hub import tqdm

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tqdm(total=4, disable=True) as bar:
            bar.update(2)
    assert bar.n == 2 and list(tqdm([1, 2], disable=True)) == [1, 2]
