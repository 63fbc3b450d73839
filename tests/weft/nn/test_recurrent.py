"""RNN, LSTM, GRU, their cells, and sequences of different lengths."""

import subprocess
import sys

import pytest

import weft
from weft import nn
from weft.nn.utils import rnn

KINDS = [nn.RNN, nn.LSTM, nn.GRU]


def filled(module):
    """Parameters that are the same wherever this runs."""
    with weft.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_(((weft.arange(p.numel()) * (k + 3)) % 7 - 3).reshape(p.shape) / 8)
    return module


# Sums of outputs and of last states of filled(nn.X(2, 3, 2, bidirectional=True)) on arange(12).reshape(3, 2, 2) / 12: PyTorch 2.13.
@pytest.mark.parametrize(
    "kind,expected",
    [(nn.RNN, [-8.140757, -3.561339]), (nn.LSTM, [-2.623063, -1.772864, -4.999711]), (nn.GRU, [-5.370888, -4.727115])],
)
def test_two_layers_in_both_directions(kind, expected):
    module = filled(kind(2, 3, 2, bidirectional=True))
    output, state = module(weft.arange(12.0).reshape(3, 2, 2) / 12)
    states = state if isinstance(state, tuple) else (state,)
    found = [output.sum().item(), *(s.sum().item() for s in states)]
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_give_what_each_gives_alone(kind):
    weft.manual_seed(0)
    module = kind(4, 5, num_layers=2, bidirectional=True)
    sequences = [weft.randn(n, 4) for n in (2, 5, 3)]
    output, _ = module(rnn.pack_sequence(sequences, enforce_sorted=False))
    for one, whole in zip(sequences, rnn.unpack_sequence(output)):
        weft.testing.assert_close(whole, module(one)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_repeats_its_cell(kind):
    weft.manual_seed(0)
    module, cell = kind(4, 5), getattr(nn, f"{kind.__name__}Cell")(4, 5)
    cell.load_state_dict({name: module.state_dict()[f"{name}_l0"] for name in cell.state_dict()})
    x, state, outputs = weft.randn(6, 2, 4), None, []
    for row in x:
        state = cell(row, state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    weft.testing.assert_close(module(x)[0], weft.stack(outputs))
    weft.testing.assert_close(kind(4, 5, batch_first=True)(x)[0].shape, (6, 2, 5))


@pytest.mark.parametrize("kind,arguments", [(nn.RNN, {}), (nn.LSTM, {"proj_size": 3}), (nn.GRU, {"bidirectional": True})])
def test_recurrent_networks_compile(kind, arguments):
    weft.manual_seed(0)
    module, x = kind(4, 5, **arguments), weft.randn(3, 2, 4)
    module(x)[0].sum().backward()
    expected = [p.grad for p in module.parameters()]
    module.zero_grad()
    compiled = weft.compile(module, backend="eager", fullgraph=True)
    output, _ = compiled(x)
    weft.testing.assert_close(output, module(x)[0])
    output.sum().backward()
    weft.testing.assert_close([p.grad for p in module.parameters()], expected)


@pytest.mark.parametrize(
    "make,error,message",
    [
        (lambda: nn.LSTM(4, 0), ValueError, "hidden_size must be greater than zero"),
        (lambda: nn.GRU(4, 5, proj_size=2), ValueError, "only supported for LSTM"),
        (lambda: nn.LSTM(4, 5, proj_size=5), ValueError, "proj_size has to be smaller than hidden_size"),
        (lambda: nn.LSTM(4, 5)(weft.randn(3, 2, 3)), RuntimeError, r"equal to input_size. Expected 4, got 3"),
        (lambda: nn.GRU(4, 5)(weft.randn(3, 2, 4), weft.randn(1, 3, 5)), RuntimeError, r"Expected hidden size \(1, 2, 5\)"),
        (lambda: nn.GRU(4, 5)(weft.randn(3, 4), weft.randn(1, 1, 5)), RuntimeError, "hx should also be 2-D but got 3-D"),
        (lambda: nn.LSTMCell(4, 5)(weft.randn(2, 3, 4)), ValueError, "LSTMCell: Expected input to be 1D or 2D, got 3D"),
        (lambda: nn.RNN(4, 5, nonlinearity="sine"), ValueError, "Unknown nonlinearity 'sine'"),
        (lambda: rnn.pack_padded_sequence(weft.randn(3, 2, 4), [2, 3]), RuntimeError, "sorted in decreasing order"),
    ],
)
def test_what_recurrent_networks_refuse(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_padding_and_packing_there_and_back():
    sequences = [weft.tensor([1, 2, 3]), weft.tensor([4]), weft.tensor([5, 6])]
    assert rnn.pad_sequence(sequences, batch_first=True, padding_value=-1).tolist() == [[1, 2, 3], [4, -1, -1], [5, 6, -1]]
    assert rnn.pad_sequence(sequences, True, padding_side="left").tolist() == [[1, 2, 3], [0, 0, 4], [0, 5, 6]]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    assert packed.data.tolist() == [1, 5, 4, 2, 6, 3] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [0, 2, 1] and packed.unsorted_indices.tolist() == [0, 2, 1]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, total_length=4)
    assert padded.tolist() == [[1, 2, 3, 0], [4, 0, 0, 0], [5, 6, 0, 0]] and lengths.tolist() == [3, 1, 2]
    assert [s.tolist() for s in rnn.unpad_sequence(padded, lengths, True)] == [s.tolist() for s in sequences]


def test_names_and_printed_form():
    module = nn.LSTM(4, 5, 2, bidirectional=True, proj_size=3)
    assert repr(module) == "LSTM(4, 5, proj_size=3, num_layers=2, bidirectional=True)"
    assert list(module.state_dict())[5:7] == ["weight_ih_l0_reverse", "weight_hh_l0_reverse"]
    assert module.weight_ih_l1.shape == (20, 6) and module.weight_hr_l0.shape == (3, 5)
    assert repr(nn.RNNCell(4, 5, nonlinearity="relu")) == "RNNCell(4, 5, nonlinearity=relu)"
    assert [len(row) for row in module.all_weights] == [5, 5, 5, 5]


def test_a_packed_sequence_breaks_the_graph_and_gives_what_eager_gives():
    gru = weft.nn.GRU(3, 4, batch_first=True)

    def run(x, lengths):
        out, last = gru(rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        return rnn.pad_packed_sequence(out, batch_first=True)[0], last

    x, lengths = weft.randn(2, 5, 3), weft.tensor([2, 5])
    for got, want in zip(weft.compile(run, backend="eager")(x, lengths), run(x, lengths)):
        weft.testing.assert_close(got, want)


PACKED = """
import weft
from weft.nn.utils import rnn

gru, graphs = weft.nn.GRU(3, 4, batch_first=True), []

def keep(module, inputs):
    graphs.append(module)
    return module.forward

def run(x, lengths):
    packed = rnn.pack_padded_sequence(x * 2, lengths, batch_first=True, enforce_sorted=False)
    return rnn.pad_packed_sequence(gru(packed)[0], batch_first=True)[0] + 1

compiled = weft.compile(run, backend=keep)
for lengths in ([2, 5], [5, 3], [4, 4]):
    x = weft.randn(2, 5, 3)
    weft.testing.assert_close(compiled(x, weft.tensor(lengths)), run(x, weft.tensor(lengths)))
print(len(graphs))
"""


def test_packing_by_a_tensor_is_one_break_each_and_nothing_is_compiled_anew_for_other_lengths():
    """In a process of its own: what other tests ran of the same layers decides which of their sizes are symbols."""
    done = subprocess.run([sys.executable, "-c", PACKED], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 6  # before, between and after, some again for another longest sequence
