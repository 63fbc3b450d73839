"""Text to spectra in the manner of Tacotron 2 (Shen et al. 2017): location-sensitive attention, LSTM cells, teacher forcing."""

import torch
import torch.nn.functional as F
from torch import nn

SYMBOLS, MELS, WIDTH, MEMORY = 20, 8, 16, 12


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, MEMORY)
        self.convolution = nn.Sequential(nn.Conv1d(MEMORY, MEMORY, 5, padding=2), nn.BatchNorm1d(MEMORY), nn.ReLU())
        self.lstm = nn.LSTM(MEMORY, MEMORY // 2, batch_first=True, bidirectional=True)

    def forward(self, text):
        x = self.convolution(self.embedding(text).transpose(1, 2)).transpose(1, 2)
        return self.lstm(x)[0]


class LocationAttention(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.query, self.memory = nn.Linear(WIDTH, dim, bias=False), nn.Linear(MEMORY, dim, bias=False)
        self.location = nn.Conv1d(2, dim, 5, padding=2, bias=False)
        self.v = nn.Linear(dim, 1, bias=False)

    def forward(self, query, memory, processed, weights):
        energies = self.v(torch.tanh(self.query(query).unsqueeze(1) + processed + self.location(weights).transpose(1, 2)))
        weights = F.softmax(energies.squeeze(-1), dim=1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights


class Tacotron(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.attention = Encoder(), LocationAttention()
        self.prenet = nn.Sequential(nn.Linear(MELS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.attention_rnn = nn.LSTMCell(WIDTH + MEMORY, WIDTH)
        self.decoder_rnn = nn.LSTMCell(WIDTH + MEMORY, WIDTH)
        self.projection, self.gate = nn.Linear(WIDTH + MEMORY, MELS), nn.Linear(WIDTH + MEMORY, 1)
        self.postnet = nn.Sequential(nn.Conv1d(MELS, 12, 5, padding=2), nn.Tanh(), nn.Conv1d(12, MELS, 5, padding=2))

    def forward(self, text, mels):
        memory = self.encoder(text)
        processed = self.attention.memory(memory)
        n, steps = text.size(0), mels.size(1)
        h1 = c1 = h2 = c2 = memory.new_zeros(n, WIDTH)
        context = memory.new_zeros(n, MEMORY)
        weights = cumulative = memory.new_zeros(n, text.size(1))
        frames = torch.cat([mels.new_zeros(n, 1, MELS), mels[:, :-1]], dim=1)
        outputs, gates = [], []
        for x in self.prenet(frames).unbind(1):
            h1, c1 = self.attention_rnn(torch.cat((x, context), -1), (h1, c1))
            context, weights = self.attention(h1, memory, processed, torch.stack((weights, cumulative), dim=1))
            cumulative = cumulative + weights
            h2, c2 = self.decoder_rnn(torch.cat((h1, context), -1), (h2, c2))
            both = torch.cat((h2, context), dim=1)
            outputs.append(self.projection(both))
            gates.append(self.gate(both).squeeze(1))
        coarse = torch.stack(outputs, 1)
        assert coarse.shape[1] == steps
        fine = coarse + self.postnet(coarse.transpose(1, 2)).transpose(1, 2)
        return coarse, fine, torch.stack(gates, 1)


def loss(out, text, mels):
    coarse, fine, gates = out
    stop = torch.zeros_like(gates)
    stop[:, -1] = 1
    return F.mse_loss(coarse, mels) + F.mse_loss(fine, mels) + F.binary_cross_entropy_with_logits(gates, stop)


def batch(n, s, t):
    return torch.randint(SYMBOLS, (n, s)), torch.randn(n, t, MELS)


def build():
    return Tacotron(), batch(3, 8, 5), loss


def sizes():
    return [batch(2, 8, 5), batch(3, 11, 5), batch(4, 6, 7)]
