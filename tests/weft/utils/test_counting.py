"""Floating-point operations counted, and the modules that a program is in. The counts are PyTorch's."""

import weft
from weft import nn
from weft.utils.flop_counter import FlopCounterMode
from weft.utils.module_tracker import ModuleTracker


def test_operations_of_modules_forwards_and_backwards():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 3))
    x = weft.ones(2, 1, 4, 4, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
        nn.ConvTranspose2d(1, 2, 3)(weft.ones(1, 1, 4, 4))
        weft.einsum("bij,bjk->bik", weft.ones(2, 3, 4), weft.ones(2, 4, 5))
    assert counter.get_total_flops() == 288 * 3 + 96 * 3 + 576 + 240
    by_module = {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items()}
    assert by_module["Sequential.0"] == 288 * 3 and by_module["Sequential"] == 288 * 3 + 96 * 3
    assert "Sequential.0" in counter.get_table() and "% Total" in counter.get_table(0)


def test_a_formula_of_the_program(capsys):
    with FlopCounterMode(custom_mapping={weft.ops.aten.sin: lambda shape, out_shape=None: 10 * shape[0]}) as counter:
        weft.ones(3).sin()
    assert counter.get_total_flops() == 30 and "30.000" in capsys.readouterr().out


def test_modules_that_a_program_is_in():
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), []
    with ModuleTracker() as tracker:
        model[1].register_forward_hook(lambda *args: seen.append(sorted(tracker.parents)))
        x = weft.ones(1, 2, requires_grad=True)
        x.register_hook(lambda g: seen.append((tracker.is_bw, sorted(tracker.parents))))
        model(x).sum().backward()
    assert seen == [["Global", "Sequential"], (True, ["Global", "Sequential", "Sequential.0"])]
    assert tracker.parents == {"Global"}
