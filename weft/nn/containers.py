"""Modules that hold modules: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from aten import Parameter, Tensor
from weft.nn.module import Module


class _List(Module):
    """What the lists share: members under their positions as names."""

    def _held(self) -> dict[str, Any]:
        return self._modules

    def _put(self, name: str, value: Any) -> None:
        self.add_module(name, value)

    def _name(self, index: Any) -> str:
        index, length = operator.index(index), len(self)
        if not -length <= index < length:
            raise IndexError(f"index {index} is out of range")
        return str(index % length)

    def _number(self, values: Iterable[Any]) -> None:
        """Hold these instead, named by position."""
        held = self._held()
        held.clear()
        held.update((str(i), value) for i, value in enumerate(values))

    def __len__(self) -> int:
        return len(self._held())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held().values())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._held().values())[index])
        return self._held()[self._name(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(self._name(index), value)

    def append(self, value: Any) -> Self:
        self._put(str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        for value in values:
            self.append(value)
        return self


class Sequential(_List):
    """Calls its modules one after the other. Sequential(a, b) or Sequential(OrderedDict(name=module))."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _name(self, index: Any) -> str:
        return list(self._modules)[int(super()._name(index))]

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return super().__getitem__(index)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [self._name(index)]:
            del self._modules[name]
        if all(name.isdigit() for name in names):
            self._number(list(self))

    def insert(self, index: int, module: Module) -> Sequential:
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        modules = list(self)
        modules.insert(index, module)
        self._number(modules)
        return self


class ModuleList(_List):
    """A list of modules whose parameters belong to the owner."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index]
        self._number(modules)

    def __contains__(self, module: Any) -> bool:
        return any(m is module for m in self._modules.values())

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return type(self)([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        modules = list(self)
        modules.insert(index, module)
        self._number(modules)

    def pop(self, key: int | slice) -> Any:
        value = self[key]
        del self[key]
        return value


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(_List):
    """A list of parameters; tensors put in become parameters."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(values)

    def _held(self) -> dict[str, Any]:
        return self._parameters

    def _put(self, name: str, value: Any) -> None:
        self.register_parameter(name, _as_parameter(value))


class _Dict(Module):
    """What the dicts share."""

    def _held(self) -> dict[str, Any]:
        return self._modules

    def __len__(self) -> int:
        return len(self._held())

    def __iter__(self) -> Iterator[str]:
        return iter(self._held())

    def __contains__(self, key: str) -> bool:
        return key in self._held()

    def __getitem__(self, key: str) -> Any:
        return self._held()[key]

    def __delitem__(self, key: str) -> None:
        del self._held()[key]

    def keys(self) -> Iterable[str]:
        return self._held().keys()

    def values(self) -> Iterable[Any]:
        return self._held().values()

    def items(self) -> Iterable[tuple[str, Any]]:
        return self._held().items()


class ModuleDict(_Dict):
    """A dict of modules whose parameters belong to the owner."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Module:
        return self._modules.pop(key)

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        for key, module in modules.items() if isinstance(modules, Mapping) else modules:
            self[key] = module


class ParameterDict(_Dict):
    """A dict of parameters; tensors put in become parameters."""

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        for key, value in (parameters or {}).items():
            self[key] = value

    def _held(self) -> dict[str, Any]:
        return self._parameters

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(key, _as_parameter(value))
