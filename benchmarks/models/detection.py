"""A one-stage detection head (Lin et al. 2017): anchors, IoU matching, focal and smooth L1 losses, decoding and greedy NMS."""

import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES, STRIDE = 3, 4


def box_iou(a, b):
    """a: (n, 4), b: (m, 4) as x1 y1 x2 y2. (n, m)"""
    area = lambda box: (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    top_left, bottom_right = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    inter = (bottom_right - top_left).clamp(min=0).prod(dim=2)
    return inter / (area(a)[:, None] + area(b) - inter)


def nms(boxes, scores, threshold, count):
    """Greedy suppression of a fixed number of candidates: (indices by score, whether each is kept)."""
    order = scores.topk(count).indices
    overlaps = box_iou(boxes[order], boxes[order]) > threshold
    keep = torch.ones(count, dtype=torch.bool)
    for i in range(count):
        later = torch.arange(count) > i
        keep = keep & ~(overlaps[i] & later & keep[i])
    return order, keep


class Detector(nn.Module):
    def __init__(self, width=12, ratios=(0.5, 1.0, 2.0)):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 3, 2, 1), nn.ReLU())
        self.cls, self.reg = nn.Conv2d(width, len(ratios) * CLASSES, 3, padding=1), nn.Conv2d(width, len(ratios) * 4, 3, padding=1)
        nn.init.constant_(self.cls.bias, -2.0)
        size, ratios = 6.0, torch.tensor(ratios)
        w, h = size / ratios.sqrt(), size * ratios.sqrt()
        self.register_buffer("cell", torch.stack([-w, -h, w, h], 1) / 2)

    def anchors(self, h, w):
        y, x = torch.meshgrid(torch.arange(h) * STRIDE, torch.arange(w) * STRIDE, indexing="ij")
        shifts = torch.stack([x, y, x, y], -1).reshape(-1, 1, 4) + STRIDE / 2
        return (shifts + self.cell).reshape(-1, 4)

    def decode(self, anchors, deltas):
        size = anchors[:, 2:] - anchors[:, :2]
        centre = (anchors[:, :2] + size / 2) + deltas[..., :2] * size
        size = size * deltas[..., 2:].clamp(max=4.0).exp()
        return torch.cat([centre - size / 2, centre + size / 2], -1)

    def forward(self, images, boxes, labels):
        x = self.backbone(images)
        n, _, h, w = x.shape
        scores = self.cls(x).permute(0, 2, 3, 1).reshape(n, -1, CLASSES)
        deltas = self.reg(x).permute(0, 2, 3, 1).reshape(n, -1, 4)
        anchors = self.anchors(h, w)
        decoded = self.decode(anchors, deltas)
        found = []
        with torch.no_grad():
            for i in range(n):
                best, label = scores[i].sigmoid().max(-1)
                order, keep = nms(decoded[i], best, 0.5, 10)
                found.append((decoded[i][order], label[order], keep))
        return scores, deltas, anchors, found


def focal_loss(logits, targets, alpha=0.25, gamma=2.0):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    p_t = p * targets + (1 - p) * (1 - targets)
    return (ce * (1 - p_t) ** gamma * (alpha * targets + (1 - alpha) * (1 - targets))).sum()


def loss(out, images, boxes, labels):
    scores, deltas, anchors, _ = out
    total = 0.0
    size = anchors[:, 2:] - anchors[:, :2]
    for i in range(images.shape[0]):
        overlap, matched = box_iou(anchors, boxes[i]).max(dim=1)
        positive = overlap > 0.4
        target = F.one_hot(labels[i][matched], CLASSES).float() * positive[:, None]
        goal = boxes[i][matched]
        centre = ((goal[:, :2] + goal[:, 2:]) - (anchors[:, :2] + anchors[:, 2:])) / 2 / size
        goal = torch.cat([centre, torch.log((goal[:, 2:] - goal[:, :2]) / size)], 1)
        count = positive.sum().clamp(min=1)
        regression = (F.smooth_l1_loss(deltas[i], goal, reduction="none", beta=0.1).sum(1) * positive).sum()
        total = total + (focal_loss(scores[i], target) + regression) / count
    return total / images.shape[0]


def batch(n, h, w, objects=3):
    corner = torch.rand(n, objects, 2) * torch.tensor([w - 8.0, h - 8.0])
    boxes = torch.cat([corner, corner + 4 + 4 * torch.rand(n, objects, 2)], -1)
    return torch.randn(n, 3, h, w), boxes, torch.randint(CLASSES, (n, objects))


def build():
    return Detector(), batch(2, 16, 16), loss


def sizes():
    return [batch(1, 16, 16), batch(2, 24, 20), batch(3, 16, 32)]
