"""PyTorch's files: read as it wrote them (data/, made by PyTorch 2.13), written as it reads them, and attacked."""

import collections
import io
import pickle
import random
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import nn

DATA = Path(__file__).parent / "data"
FILES = ["pytorch_zip.pt", "pytorch_legacy.pt"]


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_pytorch(name):
    o = weft.load(DATA / name)
    assert (o["epoch"], o["lr"], o["none"], o["flag"], o["int"]) == (3, 0.5, None, True, 2**70)
    assert (o[5], o[1, 2]) == ("int key", "tuple key")
    assert o["base"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]] and o["t"].stride() == (1, 4)
    o["base"][1, 0] = 100
    assert o["t"][0, 1] == 100 and o["row"][0] == 100
    assert isinstance(o["param"], nn.Parameter) and o["param"].requires_grad
    kinds = {"half": "float16", "bf": "bfloat16", "c": "complex64", "b": "bool", "i8": "int8", "u16": "uint16", "scalar": "float32"}
    assert {k: o[k].dtype.name for k in kinds} == kinds
    assert o["c"].tolist() == [1 + 2j] and o["u16"].tolist() == [65535] and o["scalar"].shape == () and o["empty"].shape == (0, 3)
    assert o["size"] == weft.Size([1, 2]) and o["dtype"] is weft.float64 and o["device"] == weft.device("cpu")
    assert o["set"] == {1, 2} and o["bytes"] == b"\x00\xff" and o["tuple"] == (1, [2, {"a": (3,)}]) and o["complex"] == 1 + 2j
    assert o["np"] == 2.5 and o["arr"].tolist() == [0, 1, 2] and o["counter"] == collections.Counter("aab") and o["dd"][7] == []
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    model.load_state_dict(o["model"])
    assert o["model"]._metadata["1"] == {"version": 2}
    optimizer = weft.optim.Adam(model.parameters())
    optimizer.load_state_dict(o["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.01 and optimizer.state[model[0].weight]["step"] == 1


def test_mapped_files_are_not_written_to(tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes((DATA / "pytorch_zip.pt").read_bytes())
    o = weft.load(path, mmap=True)
    o["base"].add_(1)
    assert weft.load(path)["base"][0, 0] == 0
    with pytest.raises(ValueError, match="must be a file path"):
        weft.load(io.BytesIO(path.read_bytes()), mmap=True)


def tree():
    base = weft.arange(6.0).reshape(2, 3)
    return collections.OrderedDict(
        base=base, t=base.t(), p=nn.Parameter(weft.ones(2)), c=weft.tensor([1j]), u=weft.tensor([3], dtype=weft.uint16),
        nested=[(1, None), {"x": {2.5}, 3: b"\x80"}], size=weft.Size([2]), dtype=weft.int8, device=weft.device("cpu"),
        z=1 - 1j, n=np.float32(2), empty=weft.zeros(0, 2), half=weft.ones(1, dtype=weft.bfloat16),
    )  # fmt: skip


@pytest.mark.parametrize("ending", ["a.pt", "a.safetensors"])
def test_round_trip(tmp_path, ending):
    weft.save(tree(), tmp_path / ending)
    o = weft.load(tmp_path / ending)
    assert type(o) is collections.OrderedDict and list(o) == list(tree())
    o["base"][0, 1] = 9
    assert o["t"][1, 0] == 9 and o["t"].stride() == (1, 3) and isinstance(o["p"], nn.Parameter)
    assert o["c"].tolist() == [1j] and o["u"].dtype is weft.uint16 and o["half"].dtype is weft.bfloat16
    assert o["empty"].shape == (0, 2)
    assert o["nested"] == [(1, None), {"x": {2.5}, 3: b"\x80"}] and o["size"] == (2,) and isinstance(o["size"], weft.Size)
    assert o["dtype"] is weft.int8 and o["z"] == 1 - 1j and o["n"] == 2 and o["device"] == weft.device("cpu")
    assert zipfile.is_zipfile(tmp_path / ending) == (ending == "a.pt")


def test_what_is_written_is_what_pytorch_writes(tmp_path):
    """Names of records and of functions: torch.load(weights_only=True) reads such files (tried with PyTorch 2.13)."""
    weft.save({"w": weft.ones(2)}, tmp_path / "m.pt")
    with zipfile.ZipFile(tmp_path / "m.pt") as archive:
        assert archive.namelist() == ["m/data.pkl", "m/byteorder", "m/data/0", "m/version"]
        text = archive.read("m/data.pkl")
        assert text[:2] == b"\x80\x02" and b"ctorch._utils\n_rebuild_tensor_v2\n" in text and b"ctorch\nFloatStorage\n" in text
        info = archive.getinfo("m/data/0")
    assert (info.header_offset + 30 + len(info.filename) + len(info.extra)) % 64 == 0


def test_what_cannot_be_written_is_named(tmp_path):
    for wrong in (lambda: 0, int, {"a": [object()]}):
        with pytest.raises(TypeError, match="save: "):
            weft.save(wrong, tmp_path / "a.pt")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="format must be"):
        weft.save(1, tmp_path / "a", format="pickle")


def test_map_location():
    path = DATA / "pytorch_zip.pt"
    seen = set()
    assert weft.load(path, map_location="meta")["base"].device.type == "meta"
    weft.load(path, map_location=lambda storage, location: seen.add(location))
    assert seen == {"cpu"} and weft.load(path, map_location={"cpu": "meta"})["half"].device.type == "meta"
    gpu = io.BytesIO(path.read_bytes().replace(b"X\x03\x00\x00\x00cpu", b"X\x04\x00\x00\x00cuda"[:8] + b""))
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        weft.load(gpu)
    with pytest.raises(TypeError, match="map_location"):
        weft.load(path, map_location=3)


# ------------------------------------------------------------------------------------------------- refused
def archive_of(pickled, records=(), compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("a/data.pkl", pickled)
        for name, data in records:
            archive.writestr(f"a/{name}", data)
    file.seek(0)
    return file


class Evil:
    def __reduce__(self):
        return (eval, ("open('/tmp/weft-was-here', 'w')",))


class Point:
    def __init__(self, x):
        self.x = x


def test_nothing_is_executed():
    for wanted, text in ((Evil(), "GLOBAL builtins.eval"), (Point(1), "Point")):
        for protocol in (2, 4):
            with pytest.raises(pickle.UnpicklingError, match=text):
                weft.load(archive_of(pickle.dumps(wanted, protocol)))
            if isinstance(wanted, Evil):
                with pytest.raises(pickle.UnpicklingError, match="eval.*not allowed"):
                    weft.load(archive_of(pickle.dumps(wanted, protocol)), weights_only=False)
            else:
                assert weft.load(archive_of(pickle.dumps(wanted, protocol)), weights_only=False).x == 1
    assert not Path("/tmp/weft-was-here").exists()
    with pytest.raises(weft.serialization.BadFile, match="a plain pickle is not loaded"):
        weft.load(io.BytesIO(pickle.dumps({"a": 1})))


def test_what_the_user_allows_is_made():
    file = pickle.dumps({"p": Point(3)}, 2)
    with weft.serialization.safe_globals([Point]):
        assert weft.serialization.get_safe_globals() == [Point] and weft.load(archive_of(file))["p"].x == 3
    with pytest.raises(pickle.UnpicklingError):
        weft.load(archive_of(file))
    weft.serialization.add_safe_globals([(Point, f"{Point.__module__}.Point")])
    assert weft.load(archive_of(file))["p"].x == 3
    weft.serialization.clear_safe_globals()
    assert weft.serialization.get_safe_globals() == []


def storage(count, key="0"):
    """Opcodes of a tensor of `count` floats in record `key`, before its offset."""
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX"
        + struct.pack("<I", len(key)) + key.encode() + b"X\x03\x00\x00\x00cpu" + number(count) + b"tQ"
    )  # fmt: skip


def number(n):
    data = n.to_bytes((n.bit_length() + 8) // 8, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def tensor(count, offset, sizes, strides, key="0"):
    shape = b"".join(b"(" + b"".join(map(number, t)) + b"t" for t in (sizes, strides))
    return storage(count, key) + number(offset) + shape + b"\x89ccollections\nOrderedDict\n)RtR."


def test_the_opcodes_above_make_a_tensor():
    o = weft.load(archive_of(tensor(4, 1, [2], [2]), [("data/0", np.arange(4.0, dtype=np.float32).tobytes())]))
    assert o.tolist() == [1, 3]


@pytest.mark.parametrize("wrong", [
    (4, 3, [2], [1]), (4, 0, [5], [1]), (4, -1, [1], [1]), (4, 0, [2**62, 4], [4, 1]), (4, 0, [-1], [1]), (4, 2**62, [1], [1]),
    (2**61, 0, [1], [1]), (5, 0, [1], [1]), (-4, 0, [1], [1]), (4, 0, [2], [1, 1]), (4, 0, [2], [-1]), (4, 0, [1], [1], "../0"),
    (4, 0, [1], [1], "1"),
])  # fmt: skip
def test_tensors_outside_of_their_storage(wrong):
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        weft.load(archive_of(tensor(*wrong), [("data/0", b"\0" * 16)]))


def test_archives_that_lie():
    plain = pickle.dumps([1], 2)
    with pytest.raises(weft.serialization.BadFile, match="compressed"):  # a bomb
        weft.load(archive_of(plain, [("data/0", b"\0" * 10**6)], zipfile.ZIP_DEFLATED))
    whole = archive_of(plain, [("data/0", b"x" * 40)]).getvalue()
    at = whole.rindex(b"PK\x01\x02")
    lied = bytearray(whole)
    struct.pack_into("<I", lied, at + 42, 0)  # the second record is where the first is
    with pytest.raises(weft.serialization.BadFile):
        weft.load(io.BytesIO(lied))
    struct.pack_into("<II", lied, at + 20, 2**31, 2**31)
    with pytest.raises(weft.serialization.BadFile):
        weft.load(io.BytesIO(lied))
    nested = archive_of(whole)
    with pytest.raises((weft.serialization.BadFile, pickle.UnpicklingError)):
        weft.load(nested)
    for text in (b"", b"PK", b"PK\x03\x04", b"(" * 1000, b"\x80\x02" + b"]" * 10 + b"a" * 20 + b"."):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            weft.load(io.BytesIO(text))
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            weft.load(archive_of(text))


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_raise_and_stay_small(name):
    data = (DATA / name).read_bytes()
    rng = random.Random(0)
    tracemalloc.start()
    for i in range(300):
        changed = bytearray(data[: rng.randrange(len(data))] if i % 3 == 0 else data)
        for _ in range(rng.randrange(0 if i % 3 == 0 else 1, 6)):
            if changed:
                changed[rng.randrange(len(changed))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        try:
            weft.load(io.BytesIO(changed))
        except (RuntimeError, EOFError, pickle.UnpicklingError):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_modules_and_tensors_are_pickled():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    x = weft.ones(1, 2)
    expected = model(x).tolist()
    assert pickle.loads(pickle.dumps(model))(x).tolist() == expected
    compiled = weft.compile(model)
    compiled(x)
    assert pickle.loads(pickle.dumps(compiled))(x).tolist() == expected
    weft_file = io.BytesIO()
    weft.save(compiled.state_dict(), weft_file)
    weft_file.seek(0)
    assert set(weft.load(weft_file)) == set(compiled.state_dict())
    t = pickle.loads(pickle.dumps(weft.arange(6.0).reshape(2, 3).t()))
    assert t.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_files_that_do_not_say_their_byte_order():
    swapped = [("data/0", np.arange(4, dtype=">f4").tobytes())]
    assert weft.load(archive_of(tensor(4, 0, [4], [1]), [*swapped, ("byteorder", b"big")])).tolist() == [0, 1, 2, 3]
    weft.serialization.set_default_load_endianness(weft.serialization.LoadEndianness.BIG)
    try:
        assert weft.load(archive_of(tensor(4, 0, [4], [1]), swapped)).tolist() == [0, 1, 2, 3]
    finally:
        weft.serialization.set_default_load_endianness(None)
    assert weft.load(archive_of(tensor(4, 0, [4], [1]), swapped)).tolist() != [0, 1, 2, 3]
    with pytest.raises(TypeError):
        weft.serialization.set_default_load_endianness("big")
    with pytest.raises(RuntimeError, match="unknown byte order"):
        weft.load(archive_of(tensor(4, 0, [4], [1]), [*swapped, ("byteorder", b"middle")]))
