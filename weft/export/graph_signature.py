"""What the inputs and outputs of an exported graph are: parameters, buffers, constants, arguments; results, new values."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class InputKind(enum.Enum):
    """What a placeholder is."""

    USER_INPUT = "user_input"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT_TENSOR = "constant_tensor"


class OutputKind(enum.Enum):
    """What an output is: part of the result, or the new value of something that the program writes."""

    USER_OUTPUT = "user_output"
    BUFFER_MUTATION = "buffer_mutation"
    USER_INPUT_MUTATION = "user_input_mutation"


class TensorArgument(NamedTuple):
    """A tensor or number of the graph, by the name of its node."""

    name: str


class ConstantArgument(NamedTuple):
    """A value that is the same in each call. As an input: what the call was exported with."""

    name: str
    value: Any


@dataclass(frozen=True)
class InputSpec:
    """`target`: the dotted name of the parameter, buffer or constant. `persistent`: whether a buffer is in the state dict."""

    kind: InputKind
    arg: TensorArgument | ConstantArgument
    target: str | None = None
    persistent: bool | None = None


@dataclass(frozen=True)
class OutputSpec:
    """`target`: the buffer, or the name of the argument, of which this is the new value."""

    kind: OutputKind
    arg: TensorArgument | ConstantArgument
    target: str | None = None


@dataclass
class ExportGraphSignature:
    """`input_specs` and `output_specs` in the order of the graph's inputs and outputs."""

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple([str(s.target) for s in self.input_specs if s.kind is kind])

    def _by_name(self, kind: InputKind) -> dict[str, str]:
        return {s.arg.name: str(s.target) for s in self.input_specs if s.kind is kind}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in the order of their inputs."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        return self._targets(InputKind.BUFFER)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def non_persistent_buffers(self) -> set[str]:
        return {str(s.target) for s in self.input_specs if s.kind is InputKind.BUFFER and s.persistent is False}

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the inputs that are arguments; of constant arguments the values."""
        given = [s.arg for s in self.input_specs if s.kind is InputKind.USER_INPUT]
        return tuple([a.value if isinstance(a, ConstantArgument) else a.name for a in given])

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        given = [s.arg for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT]
        return tuple([a.value if isinstance(a, ConstantArgument) else a.name for a in given])

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        return self._by_name(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        return self._by_name(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        return self._by_name(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """Name of an output → the buffer of which it is the new value."""
        return {s.arg.name: str(s.target) for s in self.output_specs if s.kind is OutputKind.BUFFER_MUTATION}

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """Name of an output → the argument of which it is the new value."""
        return {s.arg.name: str(s.target) for s in self.output_specs if s.kind is OutputKind.USER_INPUT_MUTATION}
