"""Recurrent idioms: an LSTM with projections over a character CNN with highways, one with layer norms, a convolutional one,
a decoder with additive attention and teacher forcing."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvLSTMCell(nn.Module):
    def __init__(self, i, h, k=(3, 3), bias=True):
        super().__init__()
        self.h = h
        self.conv = nn.Conv2d(i + h, 4 * h, k, padding=(k[0] // 2, k[1] // 2), bias=bias)

    def forward(self, x, s):
        h, c = s
        cc = self.conv(torch.cat([x, h], dim=1))
        i, f, o, g = torch.split(cc, self.h, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def init_hidden(self, b, sz):
        return torch.zeros(b, self.h, *sz), torch.zeros(b, self.h, *sz)


class LNLSTM(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.ih = nn.Linear(i, 4 * h)
        self.hh = nn.Linear(h, 4 * h, bias=False)
        self.ln = nn.ModuleList([nn.LayerNorm(h) for _ in range(5)])
        self.h = h

    def forward(self, x, h, c):
        ifgo = (self.hh(h) + self.ih(x)).chunk(4, dim=-1)
        ifgo = [self.ln[k](ifgo[k]) for k in range(4)]
        i, f, g, o = ifgo
        cn = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(self.ln[4](cn)), cn


class Highway(nn.Module):
    def __init__(self, d, n=2):
        super().__init__()
        self.H = nn.ModuleList(nn.Linear(d, d) for _ in range(n))
        self.T = nn.ModuleList(nn.Linear(d, d) for _ in range(n))

    def forward(self, x):
        for H, T in zip(self.H, self.T):
            t = T(x).sigmoid()
            x = H(x).relu() * t + x * (1 - t)
        return x


class CharCNN(nn.Module):
    def __init__(self, v=12, e=4):
        super().__init__()
        self.emb = nn.Embedding(v, e)
        self.convs = nn.ModuleList([nn.Conv1d(e, 3, k) for k in (2, 3)])
        self.hw = Highway(6)

    def forward(self, x):
        b, s, c = x.shape
        z = self.emb(x.view(-1, c)).transpose(1, 2)
        z = torch.cat([F.max_pool1d(torch.tanh(k(z)), z.size(-1) - k.kernel_size[0] + 1).squeeze(-1) for k in self.convs], -1)
        return self.hw(z).view(b, s, -1)


class Bahdanau(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.Wa, self.Ua, self.Va = nn.Linear(h, h), nn.Linear(h, h), nn.Linear(h, 1)

    def forward(self, q, k):
        s = self.Va(torch.tanh(self.Wa(q) + self.Ua(k))).squeeze(2).unsqueeze(1)
        w = F.softmax(s, dim=-1)
        return torch.bmm(w, k), w


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        h = 6
        self.char = CharCNN()
        self.lstm = nn.LSTM(6, 8, num_layers=2, proj_size=6, batch_first=True, bidirectional=False)
        self.ln = LNLSTM(6, h)
        self.gru = nn.GRUCell(6 + h, h)
        self.att = Bahdanau(h)
        self.out = nn.Linear(h, 5)
        self.emb = nn.Embedding(5, 6)
        self.conv = ConvLSTMCell(1, 2)
        self.rnn = nn.RNN(h, h, nonlinearity="relu")
        self.bil = nn.Bilinear(h, h, 4)

    def forward(self, x, tgt, im):
        e = self.char(x)
        o, (hn, cn) = self.lstm(e)
        h = c = e.new_zeros(e.size(0), 6)
        outs = []
        for t in range(o.size(1)):
            h, c = self.ln(o[:, t], h, c)
            outs.append(h)
        enc = torch.stack(outs, 1)
        dec = []
        d = h
        inp = torch.zeros(x.size(0), 1, dtype=torch.long)
        atts = []
        for t in range(tgt.size(1)):
            ctx, w = self.att(d.unsqueeze(1), enc)
            d = self.gru(torch.cat((self.emb(inp).squeeze(1), ctx.squeeze(1)), 1), d)
            y = self.out(d)
            dec.append(y)
            atts.append(w)
            inp = tgt[:, t].unsqueeze(1) if t % 2 == 0 else y.topk(1)[1].detach()
        s = self.conv.init_hidden(im.size(0), im.shape[-2:])
        for t in range(im.size(1)):
            s = self.conv(im[:, t], s)
        r, _ = self.rnn(enc.transpose(0, 1))
        return torch.stack(dec, 1), torch.cat(atts, 1), s[0], self.bil(r[-1], h), hn


def loss(o, x, tgt, im):
    return F.cross_entropy(o[0].flatten(0, 1), tgt.flatten()) + o[2].pow(2).mean() + o[3].abs().mean()


def batch(b, s):
    return torch.randint(0, 12, (b, s, 5)), torch.randint(0, 5, (b, 3)), torch.randn(b, 2, 1, 4, 4)


def build():
    return Net(), batch(2, 4), loss


def sizes():
    return [batch(3, 4), batch(4, 4)]
