"""The BLAS that NumPy brings uses as many threads as an op may."""

import weft
from aten.library_threads import library_threads, set_library_threads


def test_the_threads_of_blas_follow():
    before, blas = weft.get_num_threads(), library_threads()
    try:
        for n in (1, 2, 1):
            weft.set_num_threads(n)
            assert all(found <= n for found in library_threads())
    finally:
        weft.set_num_threads(before)
        set_library_threads(blas[0] if blas else 1)
