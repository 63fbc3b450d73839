"""Kernels of one Program are divided into translation units that compile side by side."""

import weft
from aten import settings
from inductor.codegen import cpp


def text_of(*lengths):
    return cpp.Text("head", [f"{k}".ljust(n, ".") for k, n in enumerate(lengths)])


def test_units_are_of_about_one_length():
    text = text_of(9000, 1000, 8000, 20000, 2000)
    units = text.units(3)
    assert [[k[0] for k in u.split("\n")] for u in units] == [["h", "3"], ["h", "0", "1"], ["h", "2", "4"]]
    assert [len(u) for u in units] == [20_005, 10_006, 10_006]


def test_short_texts_are_one_unit():
    assert text_of(5000, 5000).units(8) == [str(text_of(5000, 5000))]
    assert len(text_of(100_000).units(8)) == 1  # one kernel is not divided
    assert len(text_of(*[6000] * 8).units(2)) == 2
    assert cpp.Text("head", []).units(4) == ["head"]


def test_a_graph_of_many_kernels_compiles_in_several_units_to_the_same_values(monkeypatch):
    seen = []
    units = cpp.Text.units
    monkeypatch.setattr(cpp.Text, "units", lambda self, most: seen.append(units(self, most)) or seen[-1])
    monkeypatch.setattr(cpp, "UNIT", 500)

    def f(x):
        rows = [(x * k).sin().sum(k % 3).cumsum(0) for k in range(1, 7)]
        same = [x[k].exp().sum(0) for k in range(3)]  # kernels that are names for another one
        return (*rows, *same)

    x = weft.randn(4, 5, 6)
    with settings.patch(compile_threads=4, cache=False):
        made = weft.compile(f, fullgraph=True, options={"fusion": False})(x)
    assert max(map(len, seen)) == 4
    for a, b in zip(made, f(x), strict=True):
        assert weft.allclose(a, b, atol=1e-5)
