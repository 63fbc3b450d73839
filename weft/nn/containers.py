"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Self

from aten import Parameter, Tensor
from weft.nn.module import Module, _addindent  # noqa: F401  (taken from here)
from weft.type_names import typename

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _position(index: Any, length: int) -> int:
    """The index from the start. Raises IndexError."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


def _not_iterable(cls: str, method: str, value: Any, of: str = "") -> TypeError:
    return TypeError(f"{cls}.{method} should be called with an iterable{of}, but got {type(value).__name__}")


def _pairs(cls: str, values: Any, sort: bool = False) -> Iterator[tuple[str, Any]]:
    """The (key, value) that `update` is given as a mapping or as pairs."""
    if not isinstance(values, Iterable):
        raise _not_iterable(cls, "update", values, " of key/value pairs")
    if isinstance(values, (Mapping, ModuleDict, ParameterDict)):
        ordered = isinstance(values, (OrderedDict, ModuleDict, ParameterDict)) or not sort
        yield from values.items() if ordered else sorted(values.items())
        return
    for i, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{cls} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{cls} update sequence element #{i} has length {len(pair)}; 2 is required")
        yield pair


class _Modules(Module):
    """What the lists of modules share: members under their positions as names."""

    def _name(self, index: Any) -> str:
        return list(self._modules)[_position(index, len(self))]

    def _number(self, values: Iterable[Any]) -> None:
        """Hold these instead, named by position."""
        modules = list(values)
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, index: int, module: Any) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]
        for name in names:
            delattr(self, name)
        self._number(self)

    def append(self, module: Any) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Takes one out, or several, and returns it."""
        value = self[key]  # type: ignore[index]
        del self[key]
        return value


class Sequential(_Modules):
    """Calls its modules one after the other. Sequential(a, b) or Sequential(OrderedDict(name=module))."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Adds a module before the one at `index`. Raises AssertionError for what is no module, IndexError."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._number(modules)
        return self

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential().extend(self).extend(other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(list(other))

    def _times(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other

    def __mul__(self, other: int) -> Sequential:
        modules = list(self)
        return Sequential().extend(modules * self._times(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        modules = list(self)
        return self.extend(modules * (self._times(other) - 1))


class ModuleList(_Modules):
    """A list of modules whose parameters belong to the owner."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _name(self, index: Any) -> str:
        return str(_position(index, len(self)))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._name(index)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end. Raises TypeError for what is not iterable."""
        if not isinstance(modules, Iterable):
            raise _not_iterable("ModuleList", "extend", modules)
        for module in list(modules) if modules is self else modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before the one at `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._number(modules)

    def __repr__(self) -> str:
        """Neighbours that print the same are one line: "(0-2): 3 x ReLU()"."""
        blocks: list[list[Any]] = []  # first, last, text
        for i, module in enumerate(self):
            text = repr(module)
            if blocks and blocks[-1][2] == text:
                blocks[-1][1] = i
            else:
                blocks.append([i, i, text])
        if not blocks:
            return f"{self._get_name()}()"
        lines = [
            (f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}").replace("\n", "\n  ")
            for first, last, text in blocks
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules whose parameters belong to the owner."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes all out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Takes one out and returns it."""
        value = self[key]
        del self[key]
        return value

    def keys(self) -> Iterable[str]:
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Puts in the modules of a mapping or of pairs."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _shown(key: Any, value: Any, of: str) -> str:
    """A line about one of the values."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    place = f" ({value.device})" if value.device.type == "cuda" else ""
    return f"  ({key}): {kind} containing: [{of} of size {'x'.join(map(str, value.shape))}{place}]"


class ParameterList(Module):
    """A list of parameters, attributes "0", "1", …; tensors put in become parameters, anything else stays what it is."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(*index.indices(len(self))))
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(_position(index, len(self))), _as_parameter(value))

    def append(self, value: Any) -> Self:
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds values at the end. Raises TypeError for what is not iterable, and for a tensor."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise _not_iterable("ParameterList", "extend", values)
        for value in list(values) if values is self else values:
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join(_shown(i, p, str(getattr(p, "dtype", ""))) for i, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters, attributes of their names; tensors put in become parameters, anything else stays what it is."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, self._attribute(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of `key`, which is put in as `default` if it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Takes all out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Takes one out and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Takes the last (key, value) out."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another dict, with these keys."""
        return ParameterDict((k, default) for k in keys)

    def keys(self) -> Iterable[str]:
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        return ((k, self[k]) for k in self._keys)

    def values(self) -> Iterable[Any]:
        return (self[k] for k in self._keys)

    def update(self, parameters: Any) -> None:
        """Puts in the values of a mapping (an unordered one sorted by key) or of pairs."""
        for key, value in _pairs("ParameterDict", parameters, sort=True):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_shown(k, p, typename(p)) for k, p in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
