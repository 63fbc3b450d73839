"""Translation by GRUs with additive attention (Bahdanau et al. 2014): packed source sequences, a step of the decoder at a time."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

VOCABULARY, WIDTH, HIDDEN = 31, 12, 16


class EncoderRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        self.gru = nn.GRU(WIDTH, HIDDEN, batch_first=True)

    def forward(self, source, lengths):
        packed = pack_padded_sequence(self.embedding(source), lengths, batch_first=True, enforce_sorted=False)
        output, hidden = self.gru(packed)
        output, _ = pad_packed_sequence(output, batch_first=True, total_length=source.size(1))
        return output, hidden


class BahdanauAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wa, self.ua, self.va = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, query, keys, mask):
        scores = self.va(torch.tanh(self.wa(query) + self.ua(keys))).squeeze(2).unsqueeze(1)
        weights = F.softmax(scores.masked_fill(mask.unsqueeze(1), -1e9), dim=-1)
        return torch.bmm(weights, keys), weights


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.attention = EncoderRNN(), BahdanauAttention()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.gru = nn.GRU(WIDTH + HIDDEN, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, source, lengths, target):
        keys, hidden = self.encoder(source, lengths)
        mask = source == 0
        token = torch.ones(source.size(0), 1, dtype=torch.long)
        outputs, attentions = [], []
        for i in range(target.size(1)):
            context, weights = self.attention(hidden.permute(1, 0, 2), keys, mask)
            step, hidden = self.gru(torch.cat((self.embedding(token), context), dim=2), hidden)
            outputs.append(self.out(step))
            attentions.append(weights)
            token = target[:, i].unsqueeze(1)
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1), torch.cat(attentions, dim=1)


def loss(out, source, lengths, target):
    return F.nll_loss(out[0].reshape(-1, VOCABULARY), target.reshape(-1), ignore_index=0)


def batch(n, s, t):
    source = torch.randint(1, VOCABULARY, (n, s))
    lengths = torch.full((n,), s)
    lengths[0] = s - 3
    source[0, s - 3 :] = 0
    return source, lengths, torch.randint(1, VOCABULARY, (n, t))


def build():
    return Seq2Seq(), batch(3, 9, 5), loss


def sizes():
    return [batch(2, 9, 5), batch(4, 12, 5), batch(3, 7, 6)]
