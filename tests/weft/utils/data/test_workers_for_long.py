"""Four workers that serve for a long time leave the process as it was: no growth, no descriptor, no shared memory, no orphan.

WEFT_SOAK_SECONDS=600 runs it in the suite; `python -W ignore -m tests.weft.utils.data.test_workers_for_long` prints the figures as
it goes, for ten minutes unless told otherwise.
"""

import glob
import multiprocessing
import os
import time

import numpy as np
import pytest

import weft
from weft.utils.data import DataLoader, Dataset

SECONDS = float(os.environ.get("WEFT_SOAK_SECONDS", "600"))
LEEWAY = 16  # MB: what an allocator may keep


class Images(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, i):
        return {"image": weft.full((3, 64, 64), float(i)), "label": i, "box": np.arange(4) + i, "name": str(i)}


def megabytes(pid):
    """Memory that only `pid` has, which is what grows: a child's copies of its parent's pages are shared until it writes them."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith(("Private_Dirty:", "Private_Clean:"))) / 1024


def figures():
    """(MB here, MB of the workers in the mean, descriptors, files in /dev/shm, processes)"""
    children = [child.pid for child in multiprocessing.active_children()]
    workers = [megabytes(pid) for pid in children]
    mean = sum(workers) / len(workers) if workers else 0.0
    return megabytes(os.getpid()), mean, len(os.listdir("/proc/self/fd")), len(glob.glob("/dev/shm/*")), len(children)


def epoch(loader):
    """Reads everything once; figures are taken while the workers are at work."""
    seen, taken = 0, None
    for batch in loader:
        seen += len(batch["label"])
        assert batch["image"].sum().item() == 3 * 64 * 64 * batch["label"].sum().item()
        assert batch["name"] == [str(label) for label in batch["label"].tolist()]
        if seen == 256:
            taken = figures()
    assert seen == 512
    return taken


def serve(seconds, show=lambda *row: None):
    """Epochs of a loader that keeps its workers beside those of one that makes them anew; (figures after half of the time, last).

    What a worker shares with its parent becomes its own as it is touched, so that its figures rise at first."""
    kept = DataLoader(Images(), batch_size=16, num_workers=4, persistent_workers=True, shuffle=True)
    anew = DataLoader(Images(), batch_size=16, num_workers=4, shuffle=True)
    start, epochs, told, first = time.monotonic(), 0, 0.0, None
    while (passed := time.monotonic() - start) < seconds or first is None:
        epoch(anew)
        row = epoch(kept)
        epochs += 2
        if first is None and passed >= seconds / 2:
            first = row
        if passed >= told:
            told += seconds / 20
            show(passed, epochs, *row)
    show(time.monotonic() - start, epochs, *row)
    return first, row


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.skipif("WEFT_SOAK_SECONDS" not in os.environ, reason="takes ten minutes: WEFT_SOAK_SECONDS=600")
def test_nothing_grows():
    shared = set(glob.glob("/dev/shm/*"))
    first, last = serve(SECONDS)
    assert last[0] < first[0] + LEEWAY and last[1] < first[1] + LEEWAY
    assert last[2:] == first[2:]
    deadline = time.monotonic() + 10
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not multiprocessing.active_children() and set(glob.glob("/dev/shm/*")) <= shared


if __name__ == "__main__":
    print(f"{'s':>6} {'epochs':>7} {'MB':>8} {'MB/worker':>10} {'fds':>5} {'shm':>5} {'workers':>8}")
    serve(SECONDS, lambda *row: print("{:6.0f} {:7d} {:8.1f} {:10.1f} {:5d} {:5d} {:8d}".format(*row), flush=True))
