"""Strides that follow from sizes are not compared with numbers."""

import pytest

import weft
from dynamo.testing import CompileCounter


@pytest.mark.parametrize("layout", [(0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 2, 3)])
def test_permuted_inputs_of_other_sizes_are_not_compiled_again(layout):
    def permuted(*sizes):
        order = [sizes[d] for d in layout]
        return weft.randn(*order).permute([layout.index(d) for d in range(4)])

    counter = CompileCounter()
    compiled = weft.compile(lambda x: x.transpose(1, 3) * 2 + x.sum(), backend=counter, dynamic=True)
    for sizes in [(2, 5, 10, 12), (2, 5, 4, 8), (3, 7, 6, 9)]:
        x = permuted(*sizes)
        weft.testing.assert_close(compiled(x), x.transpose(1, 3) * 2 + x.sum())
    before = counter.frame_count
    strided = weft.randn(6, 7, 6, 9)[::2]
    weft.testing.assert_close(compiled(strided), strided.transpose(1, 3) * 2 + strided.sum())
    assert before == 1 and counter.frame_count == 2
