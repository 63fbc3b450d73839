"""Dtypes that ops of networks refuse. Expected: PyTorch 2.13 on a CPU."""

import pytest

import weft
from weft.nn import functional as F

X = weft.ones(2)
LINE, IMAGE, SPACE = (weft.ones([1, 1] + [3] * n, dtype=weft.bool) for n in (1, 2, 3))
REFUSED = (
    (lambda: F.prelu(X, X[:1].double()), RuntimeError, "prelu: Type promoting not supported. Got Float and Double"),
    (lambda: F.prelu(X.half(), X[:1]), RuntimeError, "prelu: Type promoting not supported. Got Half and Float"),
    (lambda: F.prelu(X.long(), X[:1].long()), NotImplementedError, "\"prelu_cpu\" not implemented for 'Long'"),
    (lambda: F.prelu(X.bool(), X[:1].bool()), NotImplementedError, "\"prelu_cpu\" not implemented for 'Bool'"),
    (lambda: F.prelu(X + 1j, X[:1] + 1j), NotImplementedError, "\"prelu_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: F.conv1d(LINE, LINE), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: F.conv2d(IMAGE, IMAGE), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: F.conv3d(SPACE, SPACE), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: F.conv_transpose1d(LINE, LINE), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: F.conv_transpose2d(IMAGE, IMAGE), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: F.conv_transpose1d(LINE.char(), LINE.char()), NotImplementedError, "not implemented for 'Char'"),
    (lambda: F.unfold(IMAGE.long(), 2), NotImplementedError, "not implemented for 'Long'"),
    (lambda: F.fold(weft.ones(1, 4, 9).long(), 4, 2), NotImplementedError, "not implemented for 'Long'"),
    (lambda: weft.poisson(X.long()), NotImplementedError, "\"poisson_cpu\" not implemented for 'Long'"),
    (lambda: weft.special.log_ndtr(X.half()), NotImplementedError, "^\"log_ndtr_cpu\" not implemented for 'Half'"),
    (lambda: weft.special.zeta(X.half(), X.half()), NotImplementedError, "^\"zeta_cpu\" not implemented for 'Half'"),
    (lambda: weft.special.hermite_polynomial_h(X + 1j, X), NotImplementedError, "^\"hermite_polynomial_h_cpu\" not implemented"),
    (lambda: weft.special.ndtr(X + 1j), NotImplementedError, "^\"erf_vml_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: weft.lgamma(X + 1j), NotImplementedError, "^\"lgamma_vml_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: weft.amax(X + 1j), NotImplementedError, "^\"max_values_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: F.pad(LINE, (1, 1), mode="reflect"), NotImplementedError, "\"reflection_pad1d\" not implemented for 'Bool'"),
    (lambda: F.local_response_norm(X[None, None] + 1j, 2), NotImplementedError, "not implemented for 'ComplexFloat'"),
)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused(case, compiled):
    weft.compiler.reset()
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        (weft.compile(call, fullgraph=True) if compiled else call)()


@pytest.mark.parametrize("compiled", [False, True])
def test_windows_of_truth_values_are_truth_values(compiled):
    x = weft.arange(18).view(1, 2, 3, 3) % 3 == 0

    def unfolded(x):
        return F.unfold(x, 2), F.fold(F.unfold(x, 2), (3, 3), 2)

    weft.compiler.reset()
    columns, image = (weft.compile(unfolded, fullgraph=True) if compiled else unfolded)(x)
    assert columns.dtype is weft.bool and weft.equal(columns, F.unfold(x.float(), 2) > 0)
    assert image.dtype is weft.bool and weft.equal(image, x)
