"""Work on a GPU that is recorded once and played again as a whole, without the host in between."""

from __future__ import annotations

import gc
from typing import Any

from aten._native import Generator
from weft.cuda.devices import driver, is_available, synchronize
from weft.cuda.memory import empty_cache
from weft.cuda.streams import Stream, StreamContext, current_stream

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}


def is_current_stream_capturing() -> bool:
    """Whether this thread's work is being recorded instead of run."""
    return is_available() and driver().is_capturing(current_stream().cuda_stream)


class _Pool:
    """Memory of graphs, kept while one of them (or this handle) lives: what is recorded finds its tensors at the same places."""

    def __init__(self, device: int, number: int) -> None:
        self.device, self.number = device, number

    def __del__(self) -> None:
        if _release is not None:
            _release(self.device, self.number)


_release: Any = None


class _PoolHandle:
    """What `graph_pool_handle` gives: the pool is made by the first graph that is captured with it."""

    pool: _Pool | None = None


def graph_pool_handle() -> _PoolHandle:
    """A pool that several graphs may share, which are played in the order they were captured in."""
    driver()
    return _PoolHandle()


class CUDAGraph:
    """Recorded work: `with weft.cuda.graph(g): …`, then `g.replay()`.

    What the block queues on its stream is recorded and does not run; tensors it makes get their values when it is played. Raises
    RuntimeError where there is no GPU.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.CUDAGraph requires CUDA support")
        self._graph = driver().Graph()
        self._keep, self._device = keep_graph, -1
        self._handle: _PoolHandle | None = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Records what is queued on the current stream from now on. `capture_error_mode`: which threads may meanwhile not wait
        for the GPU:
        "global" none, "thread_local" this one, "relaxed" all may."""
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
            )
        ask, stream = driver(), current_stream()
        if stream.stream_id == 0:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream. (Though replay can be on any stream.)")
        global _release
        _release = ask.pool_release
        self._device = stream.device_index
        handle = pool if isinstance(pool, _PoolHandle) else _PoolHandle()
        self._handle, shared = handle, handle.pool
        number = ask.pool_begin(self._device, shared.number if shared else 0)
        if shared:
            ask.pool_release(self._device, number)  # the handle holds it already
        else:
            handle.pool = _Pool(self._device, number)
        try:
            self._graph.begin(stream.cuda_stream, _MODES[capture_error_mode])
        except BaseException:
            ask.pool_end(self._device)
            raise

    def capture_end(self) -> None:
        """Ends the recording. Raises CudaError where something in it cannot be recorded."""
        try:
            self._graph.end()
        finally:
            driver().pool_end(self._device)
        if not self._keep:
            self._graph.instantiate()

    def instantiate(self) -> None:
        """Makes it ready to be played: done by capture_end, but with keep_graph=True."""
        self._graph.instantiate()

    def register_generator_state(self, generator: Generator) -> None:
        """Before the capture: what it draws of this generator, too, is new at every replay. The default one always is.

        A capture leaves the generators where they are; a replay takes as many numbers of each as the block drew, as if it ran
        again.
        """
        self._graph.register(generator)

    def replay(self) -> None:
        """Queues all of it on the current stream, with the random numbers that are next. Raises RuntimeError before a capture."""
        if self._keep:
            self._graph.instantiate()
        self._graph.launch(driver().current_stream(max(self._device, 0))[0])

    def reset(self) -> None:
        """Forgets what was recorded, and its memory."""
        self._graph.reset()
        self._handle = None

    def pool(self) -> _PoolHandle:
        """The graph's memory, for another graph to share."""
        if self._handle is None:
            raise RuntimeError("CUDAGraph.pool: nothing was captured")
        return self._handle

    def kernels(self) -> int:
        """How many launches it holds."""
        return self._graph.kernels()

    def enable_debug_mode(self) -> None:
        """Nothing: a graph is not dumped."""


class graph:
    """A block whose work is recorded into a CUDAGraph instead of run.

    pool: memory of another graph to share; stream: where it is recorded (one for all captures). Raises RuntimeError where
    there is no GPU.
    """

    default_capture_stream: Stream | None = None

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None, capture_error_mode: str = "global"
    ) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.graph requires CUDA support")
        if stream is None:
            if graph.default_capture_stream is None:
                graph.default_capture_stream = Stream()
            stream = graph.default_capture_stream
        self.cuda_graph, self.pool, self.capture_error_mode = cuda_graph, pool, capture_error_mode
        self.capture_stream, self._context = stream, StreamContext(stream)

    def __enter__(self) -> None:
        synchronize()
        gc.collect()  # what dies in a recording would die at every replay
        empty_cache()
        self._context.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self._context.__exit__()
            raise

    def __exit__(self, *exc: Any) -> None:
        try:
            self.cuda_graph.capture_end()
        except RuntimeError:
            if exc[0] is None:  # else what was raised in the block is why
                raise
        finally:
            self._context.__exit__()


__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing"]
