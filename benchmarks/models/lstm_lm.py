"""A recurrent language model (Zaremba et al. 2014): two LSTM layers, tied weights, state carried from one segment to the next."""

import torch
from torch import nn

VOCABULARY, WIDTH, LAYERS = 53, 20, 2


class RNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.0)
        self.encoder = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = nn.LSTM(WIDTH, WIDTH, LAYERS, dropout=0.0)
        self.decoder = nn.Linear(WIDTH, VOCABULARY)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def init_hidden(self, n):
        weight = next(self.parameters())
        return weight.new_zeros(LAYERS, n, WIDTH), weight.new_zeros(LAYERS, n, WIDTH)

    def segment(self, ids, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(ids)), hidden)
        return self.decoder(self.drop(output)), hidden

    def forward(self, ids, targets):
        """ids: (time, batch), read as two segments; no gradient flows from the second to the first."""
        middle = ids.size(0) // 2
        first, hidden = self.segment(ids[:middle], self.init_hidden(ids.size(1)))
        hidden = tuple(h.detach() for h in hidden)
        second, hidden = self.segment(ids[middle:], hidden)
        return torch.cat([first, second]).view(-1, VOCABULARY), hidden


def loss(out, ids, targets):
    return nn.NLLLoss()(nn.functional.log_softmax(out[0], dim=1), targets.view(-1))


def batch(t, n):
    return torch.randint(VOCABULARY, (t, n)), torch.randint(VOCABULARY, (t, n))


def build():
    return RNNModel(), batch(12, 4), loss


def sizes():
    return [batch(12, 2), batch(18, 3), batch(10, 6)]
