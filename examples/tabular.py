"""Prices from numbers and categories: embeddings, batch norm, a plateau schedule, the best model kept, early stopping."""

import copy
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, Subset, TensorDataset

from examples import beside

NUMBERS, CATEGORIES = 6, (5, 7, 3)


def make_data(count=640, seed=0):
    """Numbers (count, 6) float32, categories (count, 3) int64, prices (count, 1) float32."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((count, NUMBERS)).astype(np.float32)
    categories = np.stack([rng.integers(0, n, count) for n in CATEGORIES], 1)
    effects = [rng.standard_normal(n) for n in CATEGORIES]
    price = numbers[:, 0] * 2 - numbers[:, 1] * numbers[:, 2] + np.sin(2 * numbers[:, 3])
    price = price + sum(e[categories[:, i]] for i, e in enumerate(effects)) + 0.1 * rng.standard_normal(count)
    return TensorDataset(
        torch.from_numpy(numbers), torch.from_numpy(categories), torch.tensor(price, dtype=torch.float32).unsqueeze(1)
    )


class Net(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(n, 4) for n in CATEGORIES)
        self.norm = nn.BatchNorm1d(NUMBERS)
        self.layers = nn.Sequential(
            nn.Linear(NUMBERS + 4 * len(CATEGORIES), width), nn.SiLU(), nn.BatchNorm1d(width),
            nn.Linear(width, width), nn.PReLU(), nn.LayerNorm(width), nn.Linear(width, 1),
        )  # fmt: skip

    def forward(self, numbers, categories):
        parts = [e(categories[:, i]) for i, e in enumerate(self.embeddings)]
        return self.layers(torch.cat([self.norm(numbers), *parts], dim=1))


def evaluate(model, loader):
    """Root mean squared error."""
    model.eval()
    total = 0.0
    with torch.no_grad():
        for numbers, categories, price in loader:
            total += nn.functional.mse_loss(model(numbers, categories), price, reduction="sum").item()
    model.train()
    return (total / len(loader.dataset)) ** 0.5


def train(options):
    torch.manual_seed(2)
    torch.set_num_threads(torch.get_num_threads())
    data = make_data()
    training, held_out = Subset(data, range(512)), Subset(data, range(512, len(data)))
    batches = BatchSampler(SequentialSampler(training), 64, drop_last=False)
    loader = DataLoader(training, batch_sampler=batches, num_workers=options.workers, persistent_workers=options.workers > 0)
    test = DataLoader(held_out, batch_size=128)

    model = Net()
    beside.share_weights(torch, model, options.weights)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    losses, first = beside.resume(torch, options.checkpoint, parts)
    net = torch.compile(model) if options.compile else model
    criterion = nn.HuberLoss()

    best, kept, patience, seconds = float("inf"), None, 5, []
    for epoch in range(first, options.epochs):
        for numbers, categories, price in loader:
            start = time.perf_counter()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.amp):
                loss = criterion(net(numbers, categories), price)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            seconds.append(time.perf_counter() - start)
        error = evaluate(model, test)
        scheduler.step(error)
        print(f"epoch {epoch}: loss {losses[-1]:.4f}, error {error:.4f}, lr {optimizer.param_groups[0]['lr']:.5f}")
        if error < best:
            best, kept, patience = error, copy.deepcopy(model.state_dict()), 5
        else:
            patience -= 1
            if patience == 0:
                break
        beside.checkpoint(torch, options.checkpoint, parts, losses, epoch + 1)
        if epoch + 1 == options.stop:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return beside.report(losses, seconds, evaluate(model, test))


if __name__ == "__main__":
    beside.main("examples.tabular", beside.parser(__doc__, epochs=6).parse_args(), train)
