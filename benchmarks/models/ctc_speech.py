"""Speech recognition in the manner of Deep Speech 2 (Amodei et al. 2015): strided convolutions, a bidirectional GRU, CTC."""

import torch
import torch.nn.functional as F
from torch import nn

MELS, SYMBOLS = 16, 9


class Speech(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 4, kernel_size=(5, 5), stride=(2, 2), padding=(2, 2)),
            nn.BatchNorm2d(4),
            nn.Hardtanh(0, 20, inplace=True),
        )
        self.gru = nn.GRU(4 * MELS // 2, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.norm = nn.LayerNorm(2 * hidden)
        self.fc = nn.Linear(2 * hidden, SYMBOLS)

    def forward(self, spectra, lengths, targets, target_lengths):
        x = self.conv(spectra.unsqueeze(1))
        n, c, f, t = x.shape
        x, _ = self.gru(x.reshape(n, c * f, t).transpose(1, 2))
        return F.log_softmax(self.fc(self.norm(x)), dim=2), (lengths + 1) // 2


def loss(out, spectra, lengths, targets, target_lengths):
    scores, lengths = out
    return nn.CTCLoss(blank=0, zero_infinity=True)(scores.transpose(0, 1), targets, lengths, target_lengths)


def batch(n, t, s):
    lengths = torch.full((n,), t)
    lengths[-1] = t - 6
    return torch.randn(n, MELS, t), lengths, torch.randint(1, SYMBOLS, (n, s)), torch.randint(1, s + 1, (n,))


def build():
    return Speech(), batch(3, 24, 4), loss


def sizes():
    return [batch(2, 24, 4), batch(3, 31, 5), batch(5, 40, 3)]
