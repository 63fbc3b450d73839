"""Workers, under the name that PyTorch has for the file."""

from weft.utils.data.worker import ExceptionWrapper, WorkerInfo, get_worker_info

__all__ = ["ExceptionWrapper", "WorkerInfo", "get_worker_info"]
