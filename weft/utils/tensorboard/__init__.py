"""Records for TensorBoard, written by the package `tensorboard` (the extra `weft[tensorboard]`)."""

from weft.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
