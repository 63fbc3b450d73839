"""Spiking neurons trained by surrogate gradients (Neftci et al. 2019)."""

import torch
import torch.nn as nn


class SurrGradSpike(torch.autograd.Function):
    scale = 10.0

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        out = torch.zeros_like(input)
        out[input > 0] = 1.0
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        return grad_input / (SurrGradSpike.scale * torch.abs(input) + 1.0) ** 2


class SNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.empty((4, 6)))
        self.w2 = nn.Parameter(torch.empty((6, 3)))
        torch.nn.init.normal_(self.w1, mean=0.0, std=1.0)
        torch.nn.init.normal_(self.w2)

    def forward(self, inputs, y):
        B, nb_steps = inputs.shape[:2]
        h1 = torch.einsum("abc,cd->abd", (inputs, self.w1))
        syn = torch.zeros((B, 6))
        mem = torch.zeros((B, 6))
        mem_rec, spk_rec = [], []
        for t in range(nb_steps):
            mthr = mem - 1.0
            out = SurrGradSpike.apply(mthr)
            rst = out.detach()
            new_syn = 0.9 * syn + h1[:, t]
            new_mem = (0.8 * mem + syn) * (1.0 - rst)
            mem_rec.append(mem)
            spk_rec.append(out)
            mem = new_mem
            syn = new_syn
        mem_rec = torch.stack(mem_rec, dim=1)
        spk_rec = torch.stack(spk_rec, dim=1)
        h2 = torch.einsum("abc,cd->abd", (spk_rec, self.w2))
        flt = torch.zeros((B, 3))
        out = torch.zeros((B, 3))
        out_rec = [out]
        for t in range(nb_steps):
            new_flt = 0.9 * flt + h2[:, t]
            new_out = 0.8 * out + flt
            flt = new_flt
            out = new_out
            out_rec.append(out)
        return torch.stack(out_rec, dim=1), mem_rec, spk_rec


def loss(out, x, y):
    m, _ = torch.max(out[0], 1)
    rate = 1e-3 * torch.sum(out[2]) + 1e-3 * torch.mean(torch.sum(torch.sum(out[2], dim=0), dim=0) ** 2)
    return nn.NLLLoss()(nn.LogSoftmax(dim=1)(m), y) + rate


def batch(b):
    return torch.randn(b, 6, 4).abs(), torch.randint(0, 3, (b,))


def build():
    return SNN(), batch(3), loss


def sizes():
    return [batch(2), batch(5), batch(4)]
