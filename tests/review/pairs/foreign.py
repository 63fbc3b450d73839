"""Random numbers, odd arrays, and pandas where it is installed: inside of a handler, beside a tensor operation."""

import tempfile

import numpy as np

from tests.review.harness import check_handled

try:
    import pandas as pd
except ImportError:
    pd = None


def mapped():
    return np.memmap(tempfile.TemporaryFile(), dtype=float, mode="w+", shape=(4,))


ARRAYS = {
    "complex*ndarray": (lambda v: v * 1j, lambda: np.ones(3)),
    "1j*nd": (lambda v: 1j * v, lambda: np.ones(3)),
    "nd+complex": (lambda v: (v + 1j).sum(), lambda: np.ones(3)),
    "rand": (lambda _: np.random.rand(3).shape, int),
    "randn": (lambda _: np.random.randn(3).shape, int),
    "normal": (lambda _: np.random.normal(size=3).shape, int),
    "choice": (lambda _: np.random.choice(3, 2).shape, int),
    "permutation": (lambda _: np.random.permutation(3).shape, int),
    "seed": (lambda _: np.random.seed(0), int),
    "values": (lambda _: (np.random.seed(3), np.random.rand(2), np.random.randint(0, 9, 3))[1:], int),
    "default_rng": (lambda _: np.random.default_rng(0).random(2).shape, int),
    "rng arg": (lambda r: r.random(2), lambda: np.random.default_rng(0)),
    "rng.integers": (lambda r: r.integers(0, 5, 3), lambda: np.random.default_rng(0)),
    "memmap*2": (lambda a: (a * 2).sum(), mapped),
    "matrix": (lambda a: (a * a).shape, lambda: np.matrix([[1]])),
    "recarray": (lambda a: a.foo, lambda: np.rec.array([(1,)], dtype=[("foo", int)])),
    "chararray": (lambda a: a + "b", lambda: np.array(["a"])),
    "objarr": (lambda a: a * 2, lambda: np.array([1, "a"], dtype=object)),
    "longdouble": (lambda a: a * 2, lambda: np.ones(2, np.longdouble)),
    "datetime64": (lambda a: a + np.timedelta64(1, "D"), lambda: np.array(["2020"], "M8[D]")),
    "np.datetime64": (lambda a: a + np.timedelta64(1, "D"), lambda: np.datetime64("2020-01-01")),
    "complex arr": (lambda a: a * 2, lambda: np.ones(3) * 1j),
    "structured": (lambda a: a["x"], lambda: np.zeros(2, dtype=[("x", int)])),
    "masked": (lambda a: (a * 2).sum(), lambda: np.ma.array([1, 2], mask=[0, 1])),
    "masked values": (lambda a: a * 2, lambda: np.ma.array([1, 2], mask=[0, 1])),
    "noncontiguous": (lambda a: a * 2, lambda: np.ones((4, 4)).T[::2]),
    "big endian": (lambda a: a * 2, lambda: np.ones(4, dtype=">f8")),
    "read only": (lambda a: a * 2, lambda: np.broadcast_to(np.ones(4), (3, 4))),
    "scalar argument": (lambda a: np.sin(a) * 2, lambda: 3.0),
    "np scalar argument": (lambda a: np.sin(a) * 2, lambda: np.float64(3.0)),
    "bool invert": (lambda a: ~a, lambda: np.ones(3, bool)),
    "divide by zero": (lambda a: 1 / a, lambda: np.zeros(3)),
    "half": (lambda a: a.astype(np.float16) * 2, lambda: np.ones(3)),
    "uint16": (lambda a: a * 2, lambda: np.ones(3, np.uint16)),
}

FRAMES = {
    "engine in": (lambda a: 1 in a, lambda: pd.Index([1, 2])._engine),
    "index in": (lambda a: 1 in a, lambda: pd.Index([1, 2])),
    "Interval in": (lambda a: 0.5 in a, lambda: pd.Interval(0, 1)),
    "Timestamp+": (lambda a: a + pd.Timedelta("1d"), lambda: pd.Timestamp("2020")),
    "Timestamp.year": (lambda a: a.year, lambda: pd.Timestamp("2020")),
    "NaT": (lambda a: a == a, lambda: pd.NaT),
    "pd.NA": (lambda a: a | True, lambda: pd.NA),
    "pd.isna": (lambda a: pd.isna(a), lambda: "a"),
    "Series+1": (lambda a: (a + 1).sum(), lambda: pd.Series([1])),
    "series.foo": (lambda a: (a.foo, a["foo"]), lambda: pd.Series({"foo": 3})),
    "series.rename": (lambda a: a.rename("n").name, lambda: pd.Series([1.0])),
    "np.sqrt(series)": (lambda a: np.sqrt(a).tolist(), lambda: pd.Series([4.0])),
    "series mean": (lambda a: a.mean(), lambda: pd.Series([4.0])),
    "index.map": (lambda a: a.map(str.upper).tolist(), lambda: pd.Index(["a"])),
    "df.a": (lambda a: a.a.sum(), lambda: pd.DataFrame({"a": [1]})),
    "df['a']": (lambda a: a["a"].sum(), lambda: pd.DataFrame({"a": [1]})),
    "df.loc": (lambda a: a.loc[0, "a"], lambda: pd.DataFrame({"a": [1]})),
    "df.values": (lambda a: a.values * 2, lambda: pd.DataFrame({"a": [1.0]})),
    "np.log(df[a].values)": (lambda a: np.log(a["a"].values), lambda: pd.DataFrame({"a": [1.0]})),
    "k in df": (lambda a: ("a" in a, "z" in a, "a" in a.columns), lambda: pd.DataFrame({"a": [1.0]})),
    "df mask": (lambda a: a[a["a"] > 1].shape, lambda: pd.DataFrame({"a": [1, 2]})),
    "df rename": (lambda a: a.rename(columns={"a": "z"}).columns.tolist(), lambda: pd.DataFrame({"a": [1, 2]})),
    "df setitem": (lambda a: (a.__setitem__("w", 1), a.shape), lambda: pd.DataFrame({"a": [1, 2]})),
    "groupby": (lambda a: a.groupby("k").agg(["mean"]).values, lambda: pd.DataFrame({"a": [1.0, 2.0], "k": [0, 1]})),
    "describe": (lambda a: a.describe().shape, lambda: pd.DataFrame({"a": [1.0, 2.0]})),
    "iterrows": (lambda a: [r["a"] for _, r in a.iterrows()], lambda: pd.DataFrame({"a": [1, 2]})),
    "melt": (lambda a: a.melt().shape, lambda: pd.DataFrame({"a": [1, 2]})),
    "get_dummies": (lambda a: pd.get_dummies(a).shape, lambda: pd.Series(["a", "b"])),
    "to_csv": (lambda a: a.to_csv(), lambda: pd.DataFrame({"a": [1, 2]})),
}


def case(operation, make):
    return lambda backend: check_handled(operation, lambda: (make(),), backend)


def cases() -> dict:
    table = ARRAYS | (FRAMES if pd is not None else {})
    return {name.replace(" ", "_"): case(*row) for name, row in table.items()}
