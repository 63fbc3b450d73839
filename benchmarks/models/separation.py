"""Separation of two voices (Luo & Mesgarani 2018), with filters of sinc, spectra and the best of permutations as loss."""

import itertools
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def si_snr(est, ref, eps=1e-8):
    est = est - est.mean(-1, keepdim=True)
    ref = ref - ref.mean(-1, keepdim=True)
    proj = (torch.sum(est * ref, -1, keepdim=True) * ref) / (torch.sum(ref**2, -1, keepdim=True) + eps)
    noise = est - proj
    return 10 * torch.log10((proj**2).sum(-1) / ((noise**2).sum(-1) + eps) + eps)


class SincConv(nn.Module):
    @staticmethod
    def to_mel(hz):
        return 2595 * np.log10(1 + hz / 700)

    @staticmethod
    def to_hz(mel):
        return 700 * (10 ** (mel / 2595) - 1)

    def __init__(self, out_channels=4, kernel_size=15, sample_rate=16000):
        super().__init__()
        self.k = kernel_size
        self.sr = sample_rate
        mel = np.linspace(self.to_mel(30), self.to_mel(sample_rate / 2 - 100), out_channels + 1)
        hz = self.to_hz(mel)
        self.low_hz_ = nn.Parameter(torch.Tensor(hz[:-1]).view(-1, 1))
        self.band_hz_ = nn.Parameter(torch.Tensor(np.diff(hz)).view(-1, 1))
        n_lin = torch.linspace(0, (kernel_size / 2) - 1, steps=int(kernel_size / 2))
        self.window_ = 0.54 - 0.46 * torch.cos(2 * math.pi * n_lin / kernel_size)
        n = (kernel_size - 1) / 2.0
        self.n_ = 2 * math.pi * torch.arange(-n, 0).view(1, -1) / sample_rate

    def forward(self, w):
        self.n_ = self.n_.to(w.device)
        low = 50 + torch.abs(self.low_hz_ * 1000)
        high = torch.clamp(low + 50 + torch.abs(self.band_hz_ * 1000), 50, self.sr / 2)
        band = (high - low)[:, 0]
        fl = torch.matmul(low, self.n_)
        fh = torch.matmul(high, self.n_)
        left = ((torch.sin(fh) - torch.sin(fl)) / (self.n_ / 2)) * self.window_
        center = 2 * band.view(-1, 1)
        right = torch.flip(left, dims=[1])
        bp = torch.cat([left, center, right], dim=1) / (2 * band[:, None])
        return F.conv1d(w, bp.view(4, 1, self.k), stride=1, padding=7)


class TasNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.sinc = SincConv()
        self.enc = nn.Conv1d(1, 6, 8, 4, bias=False)
        self.ln = nn.GroupNorm(1, 6, eps=1e-8)
        self.blocks = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Conv1d(6, 8, 1),
                    nn.PReLU(),
                    nn.GroupNorm(1, 8),
                    nn.Conv1d(8, 8, 3, dilation=2**i, padding=2**i, groups=8),
                    nn.PReLU(),
                    nn.Conv1d(8, 6, 1),
                )
                for i in range(2)
            ]
        )
        self.mask = nn.Conv1d(6, 12, 1)
        self.dec = nn.ConvTranspose1d(6, 1, 8, 4, bias=False)
        self.register_buffer("win", torch.hann_window(16))
        self.wn = torch.nn.utils.weight_norm(nn.Conv1d(1, 4, 5, padding=2))

    def forward(self, x, ref):
        e = F.relu(self.enc(x.unsqueeze(1)))
        h = self.ln(e)
        for b in self.blocks:
            h = h + b(h)
        m = torch.sigmoid(self.mask(h)).view(x.size(0), 2, 6, -1)
        s = torch.cat([self.dec(e * m[:, i]) for i in range(2)], 1)
        spec = torch.stft(
            s.flatten(0, 1),
            n_fft=16,
            hop_length=4,
            win_length=16,
            window=self.win,
            center=True,
            pad_mode="reflect",
            normalized=False,
            onesided=True,
            return_complex=True,
        )
        mag = torch.sqrt(torch.view_as_real(spec).pow(2).sum(-1) + 1e-9)
        ph = torch.angle(spec + 1e-3)
        back = torch.istft(torch.polar(mag, ph), 16, 4, 16, self.win, length=s.shape[-1])
        return s, mag, back, self.sinc(x.unsqueeze(1)), self.wn(x.unsqueeze(1))


def loss(out, x, ref):
    s = out[0]
    perms = [torch.stack([-si_snr(s[:, p[i]], ref[:, i]) for i in range(2)]).mean(0) for p in itertools.permutations(range(2))]
    told = torch.stack(perms).min(0)[0].mean() + out[1].log1p().mean() + out[2].pow(2).mean()
    return told + out[3].pow(2).mean() + out[4].abs().mean()


def batch(b):
    return torch.randn(b, 40), torch.randn(b, 2, 40)


def build():
    return TasNet(), batch(2), loss


def sizes():
    return [batch(3), batch(5), batch(4)]
