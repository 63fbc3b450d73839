"""MobileNet's inverted residuals (Sandler et al. 2018): expand, depthwise, project, ReLU6; channels-last memory."""

import torch
import torch.nn as nn


class ConvBNReLU(nn.Sequential):
    def __init__(self, inputs, outputs, kernel_size=3, stride=1, groups=1):
        padding = (kernel_size - 1) // 2
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel_size, stride, padding, groups=groups, bias=False),
            nn.BatchNorm2d(outputs, momentum=0.01),
            nn.ReLU6(inplace=True),
        )


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        hidden = int(round(inputs * expand))
        self.use_residual = stride == 1 and inputs == outputs
        layers = [] if expand == 1 else [ConvBNReLU(inputs, hidden, kernel_size=1)]
        layers.extend([
            ConvBNReLU(hidden, hidden, stride=stride, groups=hidden),
            nn.Conv2d(hidden, outputs, 1, 1, 0, bias=False),
            nn.BatchNorm2d(outputs),
        ])
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.conv(x) if self.use_residual else self.conv(x)


class MobileNet(nn.Module):
    settings = [[1, 8, 1, 1], [3, 12, 2, 2], [3, 16, 1, 2]]  # expansion, channels, repeats, stride

    def __init__(self, classes=6):
        super().__init__()
        channels = 8
        features = [ConvBNReLU(3, channels, stride=2)]
        for t, c, n, s in self.settings:
            for i in range(n):
                features.append(InvertedResidual(channels, c, s if i == 0 else 1, expand=t))
                channels = c
        features.append(ConvBNReLU(channels, 32, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(32, classes))
        self.to(memory_format=torch.channels_last)

    def forward(self, x, labels):
        x = self.features(x.contiguous(memory_format=torch.channels_last))
        return self.classifier(x.mean([2, 3]))


def loss(logits, images, labels):
    return nn.functional.nll_loss(logits.log_softmax(dim=1), labels)


def batch(n, side):
    return torch.rand(n, 3, side, side), torch.randint(6, (n,))


def build():
    return MobileNet(), batch(4, 16), loss


def sizes():
    return [batch(2, 16), batch(3, 32), batch(5, 24)]
