"""A DataLoader with processes: batches, seeds, and every way in which a worker can go wrong."""

import gc
import glob
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import weft
from weft.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Items(Dataset):
    """Item i is fn(i)."""

    def __init__(self, n, fn=lambda i: i):
        self.n, self.fn = n, fn

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.fn(i)


@pytest.fixture(autouse=True)
def nothing_stays():
    """No process, no shared memory, no descriptor outlives a test."""
    gc.collect()
    before = set(glob.glob("/dev/shm/*")), len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()
    deadline = time.monotonic() + 5
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not multiprocessing.active_children()
    assert set(glob.glob("/dev/shm/*")) <= before[0] and len(os.listdir("/proc/self/fd")) <= before[1]


def sample(i):
    return {"x": weft.full((50, 50), float(i)), "n": np.arange(i, i + 2000), "s": str(i), "h": weft.ones(2, dtype=weft.bfloat16)}


@pytest.mark.parametrize("kwargs", [{}, {"persistent_workers": True, "prefetch_factor": 3}, {"in_order": False}])
def test_batches_are_those_of_one_process(kwargs):
    expected = list(DataLoader(Items(23, sample), batch_size=4))
    loader = DataLoader(Items(23, sample), batch_size=4, num_workers=3, **kwargs)
    for _ in range(2):
        got = list(loader)
        if "in_order" in kwargs:
            got.sort(key=lambda b: int(b["s"][0]))
        assert len(got) == len(expected)
        for a, b in zip(got, expected):
            assert weft.equal(a["x"], b["x"]) and weft.equal(a["n"], b["n"]) and a["s"] == b["s"] and a["h"].dtype is weft.bfloat16
            a["x"].add_(1)  # it is the reader's own


def test_a_spawned_worker():
    loader = DataLoader(range(6), batch_size=2, num_workers=2, multiprocessing_context="spawn")
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4, 5]]
    # what Python itself keeps to look after spawned processes goes too, for the count of what stays
    multiprocessing.resource_tracker._resource_tracker._stop()


def test_order_or_whatever_comes_first():
    slow = Items(4, lambda i: time.sleep(0.3 if i == 0 else 0) or i)
    assert [b.item() for b in DataLoader(slow, num_workers=2)] == [0, 1, 2, 3]
    assert [b.item() for b in DataLoader(slow, num_workers=2, in_order=False)][0] == 1


class Shares(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, self.n, info.num_workers))


def test_iterable_datasets_end_worker_by_worker():
    assert get_worker_info() is None
    for persistent in (False, True):
        loader = DataLoader(Shares(9), batch_size=2, num_workers=2, persistent_workers=persistent)
        for _ in range(2):
            assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    assert [b.tolist() for b in DataLoader(Shares(9), 2, num_workers=2, drop_last=True)] == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert sorted(DataLoader(Shares(5), None, num_workers=3)) == [0, 1, 2, 3, 4]


def test_seeds():
    def draw(i):
        info = get_worker_info()
        return info.seed - info.id, weft.initial_seed() - info.seed, weft.rand(()).item(), random.random(), np.random.rand()

    def run(seed):
        g = weft.Generator().manual_seed(seed)
        return [[column.item() for column in b] for b in DataLoader(Items(4, draw), num_workers=2, generator=g)]

    a, b, c = run(1), run(1), run(2)
    assert a == b != c
    assert len({row[0] for row in a}) == 1 and all(row[1] == 0 for row in a)  # base_seed + id, and weft is seeded with it
    assert len({row[2] for row in a}) == 4 and len({row[3] for row in a}) == 4 and len({row[4] for row in a}) == 4


def test_worker_init_fn_runs_first():
    seen = []
    loader = DataLoader(Items(3, lambda i: seen[0] * 10 + i), num_workers=2, worker_init_fn=seen.append)
    assert [b.item() for b in loader] == [0, 11, 2] and not seen
    with pytest.raises(ZeroDivisionError, match="in DataLoader worker process 0, while it began"):
        next(iter(DataLoader(Items(3), num_workers=1, worker_init_fn=lambda i: 1 / 0)))


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def fail(i):
    if i == 5:
        raise KeyError("lost")
    if i == 7:
        raise Odd(1, 2)
    return i


def test_an_exception_names_worker_batch_and_index():
    loader = DataLoader(Items(6, fail), batch_size=2, num_workers=2)
    with pytest.raises(KeyError, match=r"Caught KeyError in DataLoader worker process 0 \(batch 2, index 5\)") as info:
        list(loader)
    assert "in fail" in str(info.value) and "'lost'" in str(info.value)
    with pytest.raises(RuntimeError, match=r"Caught Odd in DataLoader worker process 1 \(batch 7, index 7\)"):
        list(DataLoader(Items(8, lambda i: fail(0 if i == 5 else i)), num_workers=2))
    with pytest.raises(RuntimeError, match=r"process 0 \(batch 0\)(.|\n)*equal size(.|\n)*samples' \['x'\]"):
        list(DataLoader(Items(4, lambda i: {"x": weft.ones(i + 1)}), batch_size=2, num_workers=1))


def test_a_batch_after_an_exception_is_still_there():
    it = iter(DataLoader(Items(4, lambda i: 1 // (i - 1)), num_workers=1))
    assert next(it).item() == -1
    with pytest.raises(ZeroDivisionError):
        next(it)
    assert next(it).item() == 1


def test_what_cannot_be_sent_is_named():
    with pytest.raises(Exception, match=r"Caught \w+ in DataLoader worker process 0 \(batch 0\)(.|\n)*cannot be sent"):
        list(DataLoader(Items(2, lambda i: lambda: i), num_workers=1, collate_fn=lambda b: b))


@pytest.mark.parametrize("end,text", [
    (lambda: os.kill(os.getpid(), signal.SIGKILL), r"\(pid \d+\) is killed by signal: Killed. It was making batch 3"),
    (lambda: os._exit(3), r"worker 1 \(pid\(s\) \d+\) exited unexpectedly with exit code 3. It was making batch 3 of"),
    (lambda: sys.exit(4), r"exited unexpectedly with exit code 4"),
])  # fmt: skip
def test_a_worker_that_dies_is_named(end, text):
    loader = DataLoader(Items(9, lambda i: end() if i == 3 else i), num_workers=2)
    with pytest.raises(RuntimeError, match=text):
        list(loader)


def test_a_worker_that_hangs_is_named():
    loader = DataLoader(Items(4, lambda i: time.sleep(1000) if i == 1 else i), num_workers=2, timeout=0.5)
    with pytest.raises(RuntimeError, match=r"timed out after 0.5 seconds: worker 1 \(pid \d+\) was making batch 1 of"):
        list(loader)


def test_a_worker_that_writes_nonsense_is_told():
    def nonsense(i):
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                    os.write(int(name), b"x" * 40)
            except OSError:
                pass
        return i

    with pytest.raises(Exception) as info:
        list(DataLoader(Items(2, nonsense), num_workers=1))
    assert "DataLoader worker 0" in str(info.value) + "".join(getattr(info.value, "__notes__", []))


def test_leaving_early_ends_the_workers():
    loader = DataLoader(Items(1000, sample), batch_size=10, num_workers=2)
    for _ in loader:
        break
    one, two = iter(loader), iter(DataLoader(Items(9), num_workers=2))  # workers of the one hold nothing of the other
    next(one), next(two)
    del one, two, loader, _
    gc.collect()
    assert not multiprocessing.active_children()


def test_batches_that_are_kept_hold_no_descriptors():
    before = len(os.listdir("/proc/self/fd"))
    kept = list(DataLoader(Items(200, lambda i: weft.full((2000,), float(i))), num_workers=2))
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    assert [int(b[0, 0]) for b in kept] == list(range(200))


def test_fork_after_threads_have_computed():
    weft.randn(300, 300) @ weft.randn(300, 300)
    loader = DataLoader(Items(3, lambda i: (weft.full((300, 300), float(i)) @ weft.ones(300, 300)).sum()), num_workers=2)
    assert [b.item() for b in loader] == [0.0, 300.0**3, 2 * 300.0**3]


def test_workers_do_not_outlive_a_parent_that_is_killed():
    program = textwrap.dedent("""
        import os, sys, time, warnings
        warnings.simplefilter("ignore")
        from weft.utils.data import DataLoader
        class Slow:
            def __len__(self): return 8
            def __getitem__(self, i):
                if i > 1: time.sleep(1000)
                return i
        it = iter(DataLoader(Slow(), num_workers=2))
        next(it)
        print(*[w.pid for w in it._workers], flush=True)
        time.sleep(1000)
    """)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pids = [int(p) for p in process.stdout.readline().split()]
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(pids) == 2 and not any(alive(pid) for pid in pids)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
