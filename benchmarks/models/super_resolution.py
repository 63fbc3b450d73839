"""Super-resolution by sub-pixel convolution (Shi et al. 2016): PixelShuffle, a bicubic skip, Charbonnier loss, PSNR."""

import torch
import torch.nn as nn
import torch.nn.init as init


class SuperResolution(nn.Module):
    def __init__(self, upscale_factor=2):
        super().__init__()
        self.factor = upscale_factor
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 12, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(12, 12, (3, 3), (1, 1), "same", padding_mode="replicate")
        self.conv3 = nn.Conv2d(12, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        for conv in (self.conv1, self.conv2):
            init.orthogonal_(conv.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)

    def forward(self, low, high):
        x = self.relu(self.conv1(low))
        x = self.relu(self.conv2(x))
        skip = nn.functional.interpolate(low, scale_factor=self.factor, mode="bicubic", align_corners=False)
        image = self.pixel_shuffle(self.conv3(x)) + skip
        with torch.no_grad():
            psnr = 10 * torch.log10(1 / nn.functional.mse_loss(image.clamp(0, 1), high))
        return image, psnr


def loss(out, low, high):
    return torch.sqrt((out[0] - high) ** 2 + 1e-6).mean()


def batch(n, h, w):
    return torch.rand(n, 1, h, w), torch.rand(n, 1, 2 * h, 2 * w)


def build():
    return SuperResolution(), batch(2, 10, 10), loss


def sizes():
    return [batch(1, 10, 10), batch(3, 12, 9), batch(4, 8, 14)]
