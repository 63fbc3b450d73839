"""Translation by nn.Transformer (Vaswani et al. 2017): sinusoidal positions, a causal mask, padding masks for source and target."""

import math

import torch
import torch.nn as nn

VOCABULARY, WIDTH, HEADS = 37, 24, 4


class PositionalEncoding(nn.Module):
    def __init__(self, dropout=0.0, longest=50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(longest).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000.0) / WIDTH))
        pe = torch.zeros(longest, 1, WIDTH)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)])


class Seq2SeqTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(
            WIDTH, HEADS, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=32, dropout=0.0, activation="gelu"
        )
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.positions, self.generator = PositionalEncoding(), nn.Linear(WIDTH, VOCABULARY)
        for p in self.transformer.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, source, target):
        given = target[:-1]
        mask = nn.Transformer.generate_square_subsequent_mask(given.size(0))
        memory_padding = (source == 0).transpose(0, 1)
        out = self.transformer(
            self.positions(self.source(source) * math.sqrt(WIDTH)),
            self.positions(self.target(given) * math.sqrt(WIDTH)),
            tgt_mask=mask,
            src_key_padding_mask=memory_padding,
            memory_key_padding_mask=memory_padding,
        )
        return self.generator(out)


def loss(logits, source, target):
    return nn.CrossEntropyLoss(ignore_index=0)(logits.reshape(-1, VOCABULARY), target[1:].reshape(-1))


def batch(n, s, t):
    source = torch.randint(1, VOCABULARY, (s, n))
    source[s - 2 :, 0] = 0
    return source, torch.randint(1, VOCABULARY, (t, n))


def build():
    return Seq2SeqTransformer(), batch(3, 10, 8), loss


def sizes():
    return [batch(2, 10, 8), batch(4, 13, 8), batch(3, 7, 12)]
