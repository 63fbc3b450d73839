"""SummaryWriter: scalars, histograms, texts, images, hyperparameters … as TensorBoard reads them."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from aten import Tensor

try:
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
except ImportError as error:
    raise ModuleNotFoundError(
        "weft.utils.tensorboard writes through the package 'tensorboard', which is not installed: pip install weft[tensorboard]"
    ) from error

__all__ = ["FileWriter", "SummaryWriter"]


def _array(values: Any) -> np.ndarray:
    if isinstance(values, Tensor):
        return values.detach().cpu().numpy()
    return np.asarray(values)


def _scalar(value: Any) -> float:
    array = _array(value)
    if array.size != 1:
        raise AssertionError(f"scalar should be 0D, not of sizes {array.shape}")
    return float(array.reshape(()))


def _edges(values: np.ndarray, bins: Any, max_bins: int | None) -> tuple[np.ndarray, np.ndarray]:
    """(counts, edges); "tensorflow" are edges whose widths grow by a tenth from 1e-12 on, on both sides of 0."""
    if bins == "tensorflow":
        positive = 1e-12 * 1.1 ** np.arange(774)
        bins = np.concatenate([-positive[::-1], [0.0], positive])
    counts, edges = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        edges = np.append(edges[:-1:step], edges[-1])
    return counts, edges


def _histogram(values: Any, bins: Any, max_bins: int | None) -> Any:
    flat = _array(values).astype(np.float64).reshape(-1)
    if flat.size == 0:
        raise ValueError("The input has no element.")
    counts, edges = _edges(flat, bins, max_bins)
    used = np.nonzero(counts)[0]
    first, last = (used[0], used[-1] + 1) if len(used) else (0, 0)
    limits, buckets = edges[1:][first:last], counts[first:last]
    return summary_pb2.HistogramProto(
        min=flat.min(), max=flat.max(), num=flat.size, sum=flat.sum(), sum_squares=float(flat @ flat),
        bucket_limit=limits.tolist(), bucket=buckets.tolist(),
    )  # fmt: skip


def _image_array(image: Any, dataformats: str) -> np.ndarray:
    """uint8 (height, width, channels); several images side by side."""
    array = _array(image)
    if len(dataformats) != array.ndim or len(set(dataformats)) != len(dataformats):
        raise AssertionError(f"size of input tensor and input format are different: {array.shape}, {dataformats}")
    letters = dataformats.upper()
    if array.dtype != np.uint8:
        array = (array.astype(np.float32) * 255.0).clip(0, 255).astype(np.uint8)
    if "N" in letters:
        array = np.concatenate(list(array.transpose([letters.index(c) for c in "NHWC"])), axis=1)
    else:
        if "C" not in letters:
            array, letters = array[..., None], letters + "C"
        array = array.transpose([letters.index(c) for c in "HWC"])
    return np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array


def _encoded(array: np.ndarray) -> Any:
    import io

    from PIL import Image  # pictures are encoded by Pillow, which only they need

    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, format="PNG")
    height, width, channels = array.shape
    return summary_pb2.Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=buffer.getvalue()
    )


class FileWriter:
    """One file of records in a folder."""

    def __init__(self, log_dir: str | os.PathLike, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Writes a record of TensorBoard's."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Writes values."""
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        self.event_writer.flush()

    def close(self) -> None:
        self.event_writer.close()

    def reopen(self) -> None:
        self.event_writer = EventFileWriter(self.get_logdir())


class SummaryWriter:
    """Writes what a training says of itself into a folder (default runs/TIME_HOST), where TensorBoard finds it."""

    def __init__(
        self,
        log_dir: str | os.PathLike | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment)
        self.log_dir = str(log_dir)
        self._options = (max_queue, flush_secs, filename_suffix)
        self._files: dict[str, FileWriter] = {}
        self.purge_step = purge_step
        writer = self._get_file_writer()
        if purge_step is not None:
            writer.add_event(event_pb2.Event(file_version="brain.Event:2"), purge_step)
            log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            writer.add_event(event_pb2.Event(session_log=log), purge_step)

    def _get_file_writer(self, folder: str | None = None) -> FileWriter:
        folder = folder or self.log_dir
        if folder not in self._files:
            self._files[folder] = FileWriter(folder, *self._options)
        return self._files[folder]

    @property
    def file_writer(self) -> FileWriter:
        return self._get_file_writer()

    def get_logdir(self) -> str:
        return self.log_dir

    def _add(self, tag: str, step: Any, walltime: Any, folder: str | None = None, **value: Any) -> None:
        summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, **value)])
        self._get_file_writer(folder).add_summary(summary, None if step is None else int(_scalar(step)), walltime)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """A number."""
        self._add(tag, global_step, walltime, simple_value=_scalar(scalar_value))

    def add_scalars(self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: Any = None) -> None:
        """Numbers in one picture: each tag has a folder of its own."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, main_tag.replace("/", "_") + "_" + tag)
            self._add(main_tag, global_step, walltime, folder, simple_value=_scalar(value))

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow", walltime: Any = None, max_bins: Any = None
    ) -> None:
        """How values are distributed."""
        self._add(tag, global_step, walltime, histo=_histogram(values, bins, max_bins))

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """A text, which may be Markdown."""
        plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
        tensor = TensorProto(
            dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
        )
        metadata = summary_pb2.SummaryMetadata(plugin_data=plugin)
        self._add(tag + "/text_summary", global_step, walltime, metadata=metadata, tensor=tensor)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: Any = None, dataformats: str = "CHW"
    ) -> None:
        """A picture: uint8, or floats from 0 to 1. Needs Pillow."""
        self._add(tag, global_step, walltime, image=_encoded(_image_array(img_tensor, dataformats)))

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: Any = None, dataformats: str = "NCHW"
    ) -> None:
        """Pictures, side by side. Needs Pillow."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any], hparam_domain_discrete: Any = None,
        run_name: str | None = None, global_step: Any = None,
    ) -> None:  # fmt: skip
        """Hyperparameters as a table, and what came of them as numbers. Raises TypeError unless both are dicts."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        rows = "\n".join(f"|{k}|{_array(v).item() if isinstance(v, Tensor) else v}|" for k, v in hparam_dict.items())
        self.add_text("hparams", "|name|value|\n|-|-|\n" + rows, global_step)
        for tag, value in metric_dict.items():
            self.add_scalar(tag, value, global_step)

    def flush(self) -> None:
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        for file in self._files.values():
            file.flush()
            file.close()
        self._files.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()
