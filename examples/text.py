"""A Transformer learns to reverse words: padding, masks, groups of parameters, warm-up, accumulation, an average model."""

import math
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset

from examples import beside

LETTERS = "abcdefghijklmnop"
PAD, START, VOCABULARY = 0, 1, len(LETTERS) + 2
LONGEST = 10


class Words(Dataset):
    """A word, a mark, and the word reversed, as numbers."""

    def __init__(self, count, seed):
        rng = random.Random(seed)
        self.words = ["".join(rng.choices(LETTERS, k=rng.randint(3, LONGEST))) for _ in range(count)]

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        codes = [LETTERS.index(c) + 2 for c in self.words[i]]
        return torch.tensor([*codes, START, *codes[::-1]]), len(codes)


def collate(batch):
    """(tokens padded to the longest, lengths of the words)."""
    tokens, lengths = zip(*batch)
    return pad_sequence(tokens, batch_first=True, padding_value=PAD), torch.tensor(lengths)


class Position(nn.Module):
    """Sinusoids (Vaswani et al. 2017), kept as a buffer."""

    def __init__(self, width, longest=64):
        super().__init__()
        place = torch.arange(longest, dtype=torch.float32)[:, None]
        rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2] = torch.sin(place * rate)
        table[:, 1::2] = torch.cos(place * rate)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Model(nn.Module):
    def __init__(self, width=32, heads=4, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width, padding_idx=PAD)
        self.position = Position(width)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.embedding.weight  # tied
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        with torch.no_grad():
            self.embedding.weight[PAD].zero_()

    def forward(self, tokens):
        n = tokens.size(1)
        mask = torch.triu(torch.full((n, n), float("-inf"), device=tokens.device), 1)
        h = self.position(self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim))
        return self.head(self.encoder(h, mask=mask, is_causal=True))


def loss_of(model, tokens, lengths):
    """Cross entropy of the reversed half alone."""
    logits = model(tokens[:, :-1])
    targets = tokens[:, 1:].clone()
    place = torch.arange(targets.size(1), device=tokens.device)
    targets[place < lengths[:, None]] = PAD
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=PAD)


def groups(model, decay):
    """Weights of matrices decay; biases and norms do not."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def train(options):
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")
    loader = DataLoader(Words(192, 0), batch_size=16, collate_fn=collate, num_workers=options.workers)
    test = DataLoader(Words(64, 1), batch_size=32, collate_fn=collate)

    model = Model()
    beside.share_weights(torch, model, options.weights)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.AdamW(groups(model, 0.01), lr=3e-3, betas=(0.9, 0.98))
    steps = options.epochs * len(loader) // 2
    warmup = max(1, steps // 10)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warmup, 0.5 * (1 + math.cos(math.pi * s / steps)))
    )
    parts = {"model": model, "average": average, "optimizer": optimizer, "scheduler": scheduler}
    losses, first = beside.resume(torch, options.checkpoint, parts)
    net = torch.compile(model) if options.compile else model

    seconds = []
    for epoch in range(first, options.epochs):
        model.train()
        for i, (tokens, lengths) in enumerate(loader):
            start = time.perf_counter()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.amp):
                loss = loss_of(net, tokens, lengths)
            (loss / 2).backward()
            if i % 2:  # gradients of two batches are one step
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
                average.update_parameters(model)
            losses.append(loss.item())
            seconds.append(time.perf_counter() - start)
        print(f"epoch {epoch}: loss {losses[-1]:.4f}, perplexity {perplexity(average, test):.3f}")
        beside.checkpoint(torch, options.checkpoint, parts, losses, epoch + 1)
        if epoch + 1 == options.stop:
            break
    return beside.report(losses, seconds, perplexity(average, test))


def perplexity(model, loader):
    model.eval()
    with torch.inference_mode():
        losses = [loss_of(model, *batch).item() for batch in loader]
    return math.exp(sum(losses) / len(losses))


if __name__ == "__main__":
    beside.main("examples.text", beside.parser(__doc__, epochs=4).parse_args(), train)
