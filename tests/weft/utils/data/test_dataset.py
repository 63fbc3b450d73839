"""Datasets and how they are put together."""

import collections
import warnings

import numpy as np
import pytest

import weft
from weft.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i >= self.n:
            raise IndexError(i)
        return i * i


class Count(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


def test_tensor_dataset():
    d = TensorDataset(weft.arange(6).view(3, 2), weft.arange(3))
    assert len(d) == 3 and d[1][0].tolist() == [2, 3] and d[1][1].item() == 1
    with pytest.raises(AssertionError, match="Size mismatch"):
        TensorDataset(weft.zeros(2), weft.zeros(3))


def test_concat_subset_and_stack():
    d = Squares(3) + Squares(2)
    assert isinstance(d, ConcatDataset) and [d[i] for i in range(5)] == [0, 1, 4, 0, 1] and d[-1] == 1
    with pytest.raises(ValueError, match="should not exceed dataset length"):
        d[-6]
    with pytest.raises(AssertionError, match="empty iterable"):
        ConcatDataset([])
    s = Subset(d, [4, 2])
    assert len(s) == 2 and s[1] == 4 and s.__getitems__([1, 0]) == [4, 1]
    assert StackDataset(Squares(3), Squares(3))[2] == (4, 4)
    named = StackDataset(a=Squares(3), b=Subset(Squares(4), [3, 2, 1]))
    assert named[0] == {"a": 0, "b": 9} and named.__getitems__([2, 0]) == [{"a": 4, "b": 1}, {"a": 0, "b": 9}]
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        StackDataset(Squares(3), Squares(2))
    chained = Count(2) + Count(3)
    assert isinstance(chained, ChainDataset) and list(chained) == [0, 1, 0, 1, 2]
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([Squares(2)]))


def test_random_split():
    g = weft.Generator()
    g.manual_seed(0)
    parts = random_split(Squares(10), [3, 7], generator=g)
    assert [len(p) for p in parts] == [3, 7]
    assert sorted(x for p in parts for x in p) == [i * i for i in range(10)]
    assert [len(p) for p in random_split(Squares(10), [0.25, 0.25, 0.5])] == [3, 2, 5]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(Squares(10), [3, 3])
    with pytest.raises(ValueError, match="Fraction at index 0"):
        random_split(Squares(10), [1.5, -0.5])


def test_samplers():
    assert list(SequentialSampler(range(3))) == [0, 1, 2]
    assert sorted(RandomSampler(range(5))) == [0, 1, 2, 3, 4]
    more = list(RandomSampler(range(3), num_samples=8))
    assert len(more) == 8 and sorted(more[:3]) == sorted(more[3:6]) == [0, 1, 2]
    drawn = list(RandomSampler(range(3), replacement=True, num_samples=50))
    assert len(drawn) == 50 and set(drawn) == {0, 1, 2}
    g = weft.Generator()
    assert [list(RandomSampler(range(9), generator=g.manual_seed(1))) for _ in range(2)][0] == list(
        RandomSampler(range(9), generator=g.manual_seed(1))
    )
    assert sorted(SubsetRandomSampler([7, 8, 9])) == [7, 8, 9]
    weighted = list(WeightedRandomSampler([0.0, 1.0, 3.0], 200))
    assert collections.Counter(weighted)[0] == 0 and len(weighted) == 200
    assert sorted(WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]] and len(BatchSampler(range(5), 2, True)) == 2
    for wrong in (lambda: RandomSampler(range(3), num_samples=0), lambda: BatchSampler(range(3), 0, False),
                  lambda: WeightedRandomSampler([[1.0]], 2), lambda: BatchSampler(range(3), 2, 1)):  # fmt: skip
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError, match="replacement should be a boolean"):
        RandomSampler(range(3), replacement=1)


def test_replicas_share_the_work():
    samplers = [DistributedSampler(range(10), 4, r) for r in range(4)]
    assert [len(s) for s in samplers] == [3] * 4 and set().union(*map(set, samplers)) == set(range(10))
    first = list(samplers[0])
    samplers[0].set_epoch(1)
    assert list(samplers[0]) != first
    dropped = [list(DistributedSampler(range(10), 4, r, shuffle=False, drop_last=True)) for r in range(4)]
    assert dropped == [[0, 4], [1, 5], [2, 6], [3, 7]]
    with pytest.raises(ValueError, match="Invalid rank 4"):
        DistributedSampler(range(10), 4, 4)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedSampler(range(10))
    weft.distributed.init_process_group()
    try:
        assert list(DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]
    finally:
        weft.distributed.destroy_process_group()


Point = collections.namedtuple("Point", "x y")


def test_collate():
    batch = default_collate([{"a": weft.ones(2), "b": (1, 2.0)}, {"a": weft.zeros(2), "b": (3, 4.0)}])
    assert batch["a"].tolist() == [[1, 1], [0, 0]]
    assert batch["b"][0].dtype is weft.int64 and batch["b"][1].dtype is weft.float64 and isinstance(batch["b"], list)
    assert default_collate([Point(1, "u"), Point(2, "v")]).y == ("u", "v")
    assert default_collate([np.float32(1), np.float32(2)]).dtype is weft.float32
    assert default_collate([np.arange(2), np.arange(2)]).tolist() == [[0, 1], [0, 1]]
    assert default_collate([True, False]).dtype is weft.bool
    with pytest.raises(RuntimeError, match="equal size") as info:
        default_collate([{"a": [weft.ones(2)]}, {"a": [weft.ones(3)]}])
    assert any("['a']" in note for note in info.value.__notes__)
    with pytest.raises(RuntimeError, match="each element in list of batch"):
        default_collate([[1, 2], [3]])
    with pytest.raises(TypeError, match="must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'object'>"):
        default_collate([object()])
    with pytest.raises(TypeError, match="found <U1"):
        default_collate([np.array(["a"])])
    converted = default_convert({"a": np.arange(2), "b": [np.float64(1), "s"]})
    assert isinstance(converted["a"], weft.Tensor) and isinstance(converted["b"][0], weft.Tensor) and converted["b"][1] == "s"


def test_a_loader_in_this_process():
    loader = DataLoader(Squares(7), batch_size=3)
    assert [b.tolist() for b in loader] == [[0, 1, 4], [9, 16, 25], [36]] and len(loader) == 3
    assert [b.tolist() for b in DataLoader(Squares(7), batch_size=3, drop_last=True)][-1] == [9, 16, 25]
    assert list(DataLoader(Squares(3), batch_size=None)) == [0, 1, 4]
    assert [b.tolist() for b in DataLoader(Count(5), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Squares(5), batch_sampler=[[4, 0], [1]])] == [[16, 0], [1]]
    assert [b for b in DataLoader(Squares(4), batch_size=2, collate_fn=sum)] == [1, 13]
    g = weft.Generator()
    orders = [[b.item() for b in DataLoader(Squares(9), shuffle=True, generator=g.manual_seed(3))] for _ in range(2)]
    assert orders[0] == orders[1] != sorted(orders[0])
    weft.manual_seed(5)
    a = [b.item() for b in DataLoader(Squares(9), shuffle=True)]
    weft.manual_seed(5)
    assert a == [b.item() for b in DataLoader(Squares(9), shuffle=True)]


@pytest.mark.parametrize("wrong,text", [
    ({"num_workers": -1}, "num_workers option should be non-negative"),
    ({"timeout": -1}, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, "prefetch_factor option could only be"),
    ({"persistent_workers": True}, "persistent_workers option needs"),
    ({"sampler": [0], "shuffle": True}, "mutually exclusive with shuffle"),
    ({"batch_sampler": [[0]], "batch_size": 3}, "mutually exclusive with batch_size"),
    ({"batch_size": None, "drop_last": True}, "disables auto-batching"),
    ({"multiprocessing_context": "fork"}, "can only be used with multi-process"),
    ({"num_workers": 1, "multiprocessing_context": "tea"}, "valid start method"),
])  # fmt: skip
def test_options_that_contradict_each_other(wrong, text):
    with pytest.raises(ValueError, match=text):
        DataLoader(Squares(3), **wrong)


def test_an_iterable_dataset_has_no_order_to_choose():
    for wrong in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="expected unspecified"):
            DataLoader(Count(3), **wrong)
    loader = DataLoader(Squares(3))
    with pytest.raises(ValueError, match="should not be set after DataLoader is initialized"):
        loader.batch_size = 4
    with pytest.warns(UserWarning, match="no accelerator is found"):
        DataLoader(Squares(3), pin_memory=True)


def test_a_length_that_is_wrong_is_told():
    class Wrong(Count):
        def __len__(self):
            return 2

    loader = DataLoader(Wrong(6), batch_size=2)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="was reported to be 1"):
        list(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(DataLoader(Wrong(6), batch_size=2))  # nobody asked
        list(DataLoader(Count(6), batch_size=2))
