"""Style transfer (Gatys et al. 2015; Johnson et al. 2016): a transformer net, frozen features by forward hooks, Gram losses."""

import torch
import torch.nn.functional as F
from torch import nn


def gram_matrix(y):
    b, ch, h, w = y.size()
    features = y.view(b, ch, w * h)
    return features.bmm(features.transpose(1, 2)) / (ch * h * w)


class ConvLayer(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride=1):
        super().__init__()
        self.pad, self.conv = nn.ReflectionPad2d(kernel // 2), nn.Conv2d(inputs, outputs, kernel, stride)

    def forward(self, x):
        return self.conv(self.pad(x))


class TransformerNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.in1 = ConvLayer(3, 6, 5), nn.InstanceNorm2d(6, affine=True)
        self.conv2, self.in2 = ConvLayer(6, 8, 3, stride=2), nn.InstanceNorm2d(8, affine=True)
        self.conv3, self.in3 = ConvLayer(8, 6, 3), nn.InstanceNorm2d(6, affine=True)
        self.out = ConvLayer(6, 3, 5)

    def forward(self, x):
        y = F.relu(self.in2(self.conv2(F.relu(self.in1(self.conv1(x))))))
        y = F.interpolate(y, mode="nearest", scale_factor=2)
        return torch.sigmoid(self.out(F.relu(self.in3(self.conv3(y)))))


class StyleTransfer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = TransformerNet()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(8, 12, 3, padding=1), nn.ReLU()
        )
        for p in self.features.parameters():
            p.requires_grad = False
        self.seen = {}
        for i in (1, 4):
            self.features[i].register_forward_hook(self.keep(i))

    def keep(self, i):
        def hook(module, inputs, output):
            self.seen[i] = output

        return hook

    def look(self, x):
        self.features(x)
        return [self.seen[i] for i in (1, 4)]

    def forward(self, content, style):
        image = self.net(content)
        return image, self.look(image), self.look(content), self.look(style)


def loss(out, content, style):
    image, got, want, styles = out
    total = F.mse_loss(got[1], want[1])
    for a, b in zip(got, styles, strict=True):
        total = total + 1e3 * F.mse_loss(gram_matrix(a), gram_matrix(b).expand_as(gram_matrix(a)))
    variation = (image[:, :, 1:] - image[:, :, :-1]).abs().mean() + (image[..., 1:] - image[..., :-1]).abs().mean()
    return total + 0.1 * variation


def batch(n, side):
    return torch.rand(n, 3, side, side), torch.rand(1, 3, side, side)


def build():
    return StyleTransfer(), batch(2, 12), loss


def sizes():
    return [batch(3, 12), batch(2, 16), batch(4, 20)]
