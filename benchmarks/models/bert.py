"""A masked language model in the manner of BERT (Devlin et al. 2018): post-norm encoder, segments, padding mask, two heads."""

import math

import torch
from torch import nn

VOCABULARY, LONGEST, WIDTH, HEADS, LAYERS = 83, 40, 24, 3, 2


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        self.position = nn.Embedding(LONGEST, WIDTH)
        self.segment = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = nn.Dropout(0.0)
        self.register_buffer("position_ids", torch.arange(LONGEST).expand((1, -1)), persistent=False)

    def forward(self, ids, segments):
        position = self.position_ids[:, : ids.size(1)]
        return self.dropout(self.norm(self.word(ids) + self.position(position) + self.segment(segments)))


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.dense, self.norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH, eps=1e-12)

    def split(self, x):
        return x.view(x.size()[:-1] + (HEADS, WIDTH // HEADS)).permute(0, 2, 1, 3)

    def forward(self, x, bias):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        weights = nn.functional.softmax(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(WIDTH // HEADS) + bias, dim=-1)
        context = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous()
        return self.norm(self.dense(context.view(context.size()[:-2] + (WIDTH,))) + x), weights


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = SelfAttention()
        self.intermediate, self.output = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x, bias):
        x, weights = self.attention(x, bias)
        return self.norm(self.output(nn.functional.gelu(self.intermediate(x))) + x), weights


class BERT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.pooler = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())
        self.transform = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH))
        self.bias = nn.Parameter(torch.zeros(VOCABULARY))
        self.next_sentence = nn.Linear(WIDTH, 2)

    def forward(self, ids, segments, labels, follows):
        bias = (1.0 - (ids != 0)[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
        x = self.embeddings(ids, segments)
        attentions = ()
        for layer in self.encoder:
            x, weights = layer(x, bias)
            attentions = (*attentions, weights)
        words = nn.functional.linear(self.transform(x), self.embeddings.word.weight, self.bias)
        return {"words": words, "follows": self.next_sentence(self.pooler(x[:, 0])), "attentions": attentions}


def loss(out, ids, segments, labels, follows):
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    return criterion(out["words"].view(-1, VOCABULARY), labels.view(-1)) + criterion(out["follows"], follows)


def batch(n, t):
    ids = torch.randint(1, VOCABULARY, (n, t))
    ids[0, t - 3 :] = 0
    segments = (torch.arange(t) > t // 2).long().expand(n, t).contiguous()
    labels = ids.clone()
    labels[:, ::2] = -100
    return ids, segments, labels, torch.randint(0, 2, (n,))


def build():
    return BERT(), batch(4, 24), loss


def sizes():
    return [batch(2, 24), batch(3, 15), batch(6, 33)]
