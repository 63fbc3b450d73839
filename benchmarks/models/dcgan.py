"""DCGAN (Radford et al. 2015): generator and discriminator with their losses in one step, fakes detached for the discriminator."""

import torch
import torch.nn as nn

LATENT = 12


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.05)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(LATENT, 2 * width, 4, 1, 0, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(True),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(True),
            nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, noise):
        return self.main(noise[:, :, None, None])


class Discriminator(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(2 * width, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1)


class DCGAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator, self.discriminator = Generator(), Discriminator()
        self.apply(weights_init)

    def forward(self, noise, real):
        fake = self.generator(noise)
        judged_real, judged_fake = self.discriminator(real), self.discriminator(fake.detach())
        for p in self.discriminator.parameters():
            p.requires_grad_(False)
        judged = self.discriminator(fake)
        for p in self.discriminator.parameters():
            p.requires_grad_(True)
        return fake, judged_real, judged_fake, judged


def loss(out, noise, real):
    _, judged_real, judged_fake, judged = out
    criterion = nn.BCELoss()
    d = criterion(judged_real, torch.full_like(judged_real, 0.9)) + criterion(judged_fake, torch.zeros_like(judged_fake))
    return d + criterion(judged, torch.ones_like(judged))


def batch(n):
    return torch.randn(n, LATENT), torch.rand(n, 3, 16, 16) * 2 - 1


def build():
    return DCGAN(), batch(6), loss


def sizes():
    return [batch(3), batch(8), batch(5)]
