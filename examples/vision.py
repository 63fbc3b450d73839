"""A small residual network tells drawn shapes apart: augmentation, SGD with one cycle, label smoothing, checkpoints."""

import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler

from examples import beside

SIZE, CLASSES = 20, 4


class Shapes(Dataset):
    """Discs, squares, crosses and rings somewhere in noise: (1, SIZE, SIZE) float32, and the class."""

    def __init__(self, count, seed, augment=False):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, CLASSES, count)
        self.centres = rng.uniform(6, SIZE - 6, (count, 2))
        self.radii = rng.uniform(3, 5, count)
        self.noise = rng.standard_normal((count, SIZE, SIZE)).astype(np.float32) * 0.2
        self.augment = augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        y, x = np.mgrid[:SIZE, :SIZE] - self.centres[i][:, None, None]
        r = self.radii[i]
        distance = np.hypot(x, y)
        image = [
            distance < r,
            np.maximum(abs(x), abs(y)) < r * 0.8,
            (np.minimum(abs(x), abs(y)) < 1) & (distance < r + 1),
            abs(distance - r) < 1,
        ][self.labels[i]]
        image = torch.from_numpy(image.astype(np.float32) + self.noise[i])[None]
        if self.augment and i % 2:
            image = image.flip(-1)
        return image, int(self.labels[i])


class InOrderOf(Sampler):
    """An order of its own for each epoch, the same in every library."""

    def __init__(self, count):
        self.count, self.epoch = count, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        order = list(range(self.count))
        random.Random(self.epoch).shuffle(order)
        return iter(order)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(h)) + self.skip(x))


class Net(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.blocks = nn.Sequential(Block(width, width), Block(width, 2 * width, 2))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, CLASSES))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in loader)
    model.train()
    return right / len(loader.dataset)


def train(options):
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    data = Shapes(512, seed=0, augment=True)
    order = InOrderOf(len(data))
    loader = DataLoader(data, 32, sampler=order, num_workers=options.workers, drop_last=True)
    test = DataLoader(Shapes(128, seed=1), 64)

    model = Net().to(device)
    beside.share_weights(torch, model, options.weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, epochs=options.epochs, steps_per_epoch=len(loader))
    scaler = torch.amp.GradScaler(device.type, enabled=options.amp)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
    losses, first = beside.resume(torch, options.checkpoint, parts)
    net = torch.compile(model) if options.compile else model

    seconds = []
    for epoch in range(first, options.epochs):
        order.epoch = epoch
        for images, labels in loader:
            start = time.perf_counter()
            images, labels = images.to(device, non_blocking=True), labels.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=options.amp):
                loss = criterion(net(images), labels)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            losses.append(loss.item())
            seconds.append(time.perf_counter() - start)
        score = accuracy(model, test)
        print(f"epoch {epoch}: loss {losses[-1]:.4f}, accuracy {score:.3f}, lr {scheduler.get_last_lr()[0]:.4f}")
        beside.checkpoint(torch, options.checkpoint, parts, losses, epoch + 1)
        if epoch + 1 == options.stop:
            break
    return beside.report(losses, seconds, accuracy(model, test))


if __name__ == "__main__":
    beside.main("examples.vision", beside.parser(__doc__, epochs=4).parse_args(), train)
