"""DenseNet (Huang et al. 2016): every layer sees all the layers before it, concatenated; average-pooled transitions."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DenseLayer(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.add_module("norm1", nn.BatchNorm2d(inputs))
        self.add_module("conv1", nn.Conv2d(inputs, 2 * growth, kernel_size=1, bias=False))
        self.add_module("norm2", nn.BatchNorm2d(2 * growth))
        self.add_module("conv2", nn.Conv2d(2 * growth, growth, kernel_size=3, padding=1, bias=False))

    def forward(self, features):
        x = self.conv1(F.relu(self.norm1(torch.cat(features, 1))))
        return self.conv2(F.relu(self.norm2(x)))


class DenseBlock(nn.ModuleDict):
    def __init__(self, count, inputs, growth):
        super().__init__()
        for i in range(count):
            self.add_module(f"layer{i + 1}", DenseLayer(inputs + i * growth, growth))

    def forward(self, x):
        features = [x]
        for _, layer in self.items():
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet(nn.Module):
    def __init__(self, growth=6, classes=8):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.block1 = DenseBlock(3, 8, growth)
        shrink = nn.Conv2d(26, 13, 1, bias=False)
        self.transition = nn.Sequential(nn.BatchNorm2d(26), nn.ReLU(inplace=True), shrink, nn.AvgPool2d(2))
        self.block2 = DenseBlock(2, 13, growth)
        self.norm = nn.BatchNorm2d(25)
        self.classifier = nn.Linear(25, classes)

    def forward(self, images, labels):
        x = self.block2(self.transition(self.block1(self.stem(images))))
        x = F.adaptive_avg_pool2d(F.relu(self.norm(x), inplace=True), (1, 1))
        return self.classifier(torch.flatten(x, 1))


def loss(logits, images, labels):
    return F.multi_margin_loss(logits, labels)


def batch(n, side):
    return torch.randn(n, 1, side, side), torch.randint(8, (n,))


def build():
    return DenseNet(), batch(4, 12), loss


def sizes():
    return [batch(2, 12), batch(3, 16), batch(6, 10)]
