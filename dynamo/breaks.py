"""The catalogue of graph breaks: what cannot be captured, why, and what a person can do about it.

A break is data (`Break`); tracing raises it as `Unsupported`, which knows the user's line once it has left the
innermost traced frame. `Raised` is another thing: the traced program itself raised an exception.
"""

from __future__ import annotations

import linecache
from typing import Any

from aten.records import record


@record(frozen=True)
class Break:
    """One kind of graph break: `what` names it, `why` explains, `hints` say what to do instead."""

    what: str
    why: str
    hints: tuple[str, ...] = ()


ALLOW = "allow two graphs: fullgraph=False"

ASKED_FOR = Break(
    "a break that the program asks for",
    "it calls weft._dynamo.graph_break",
    ("leave the call out", ALLOW),
)
BRANCH_ON_TENSOR = Break(
    "a branch on the value of a tensor",
    "the value exists only once the kernel has run",
    ("choose with weft.where(cond, a, b)", ALLOW),
)
BRANCH_ON_VALUE = Break(
    "the program depends on a number that a tensor holds",
    "the number exists only once the kernel has run",
    ("choose with weft.where(cond, a, b)", ALLOW),
)
TENSOR_TO_PYTHON = Break(
    "a tensor's value is read into Python",
    "the value exists only once the kernel has run",
    ("keep the value a tensor (0-d tensors work in arithmetic)", ALLOW),
)
DATA_DEPENDENT_SIZE = Break(
    "an operation whose result size depends on data",
    "the size exists only once the kernel has run",
    ("use a mask and weft.where instead", ALLOW),
)
UNKNOWN_CALL = Break(
    "a call of a function that cannot be looked into",
    "it is not Python code and not an operation of weft",
    ("move the call out of the compiled function", ALLOW),
)
SKIPPED_CALL = Break(
    "a call of a function that is left to Python",
    "it was asked to stay in Python, or its module is not traced",
    ("move the call out of the compiled function", ALLOW),
)
USER_FUNCTION = Break(
    "an autograd.Function of the user",
    "its backward is Python code that a graph cannot hold; it runs in Python between two graphs, with its own gradient",
    ("write it as a weft.library.custom_op with register_autograd", ALLOW),
)
FUNCTION_TRANSFORM = Break(
    "a function transform inside of a compiled function",
    "the transform runs the function on tracers of its own",
    ("compile the transformed function's body", "transform outside of the compiled function", ALLOW),
)
INSIDE_TRANSFORM = Break(
    "a compiled function inside of a function transform",
    "its tensors are those of the transform there, which are no memory for kernels",
    ("compile the function that transforms: weft.compile(weft.func.grad(f))", ALLOW),
)
HIGHER_ORDER = Break(
    "a higher-order operation that cannot be a node",
    "its functions become graphs over tensors, whose results must be tensors of the same sizes and dtypes",
    ("make both functions return alike", ALLOW),
)
ESCAPED_VALUE = Break(
    "a tensor that leaves the function it was made in otherwise than by its return",
    "the graph of a function that cond, vmap, grad and the like call gives what the function returns, and nothing else",
    ("return it", ALLOW),
)
OUTSIDE_WORLD = Break(
    "an effect on the world outside",
    "it must happen once per call, in order, and a graph cannot do it",
    ("move it out of the compiled function", "guard it by `if not weft.compiler.is_compiling()`", ALLOW),
)
RANDOM_STATE = Break(
    "a change of the state of random numbers",
    "the graph takes the state as an input and cannot set it",
    ("seed outside of the compiled function", ALLOW),
)
BACKWARD_INSIDE = Break(
    "backward() inside the captured function",
    "the graph to differentiate is still being captured",
    (
        "compile with fullgraph=True or set weft._dynamo.config.trace_autograd_ops, which make it part of the graph",
        "call backward() on the result of the compiled function",
        ALLOW,
    ),
)
UNKNOWN_VALUE = Break(
    "a value of a kind that is not traced",
    "nothing is known of what its operations do",
    ("pass tensors, numbers, containers or objects of Python classes", ALLOW),
)
UNKNOWN_OPERATION = Break(
    "an operation that is not traced for this kind of value",
    "it has no rule in dynamo/variables",
    (ALLOW,),
)
NOT_CONSTANT = Break(
    "a value that had to be known while tracing",
    "the operation is run at once, on Python values",
    (ALLOW,),
)
UNKNOWN_OPCODE = Break(
    "a statement that is not traced",
    "its bytecode has no rule in dynamo/interpreter",
    (ALLOW,),
)
DYNAMIC_ATTRIBUTE = Break(
    "an attribute that only a running tensor has",
    "it describes memory, which a graph does not have while it is captured",
    ("read it outside of the compiled function", ALLOW),
)
RUNNING_EXCEPTION = Break(
    "an attribute that only a running exception has",
    "it says what was running when the exception was raised",
    ("read it outside of the compiled function", ALLOW),
)
SUSPENDED = Break(
    "a generator, coroutine or iterator is in the middle of its work",
    "its state cannot be rebuilt in Python",
    ("make a list of it first", ALLOW),
)
TWO_PATHS = Break(
    "a dict that is used as a value, and by the names in it",
    "what is changed by one of the two would have to be seen by the other",
    ("use one of the two", ALLOW),
)
NOT_REBUILT = Break(
    "a value that cannot be rebuilt in Python",
    "it was made while tracing and has no recipe",
    (ALLOW,),
)
TOO_DEEP = Break(
    "calls nested too deeply",
    "every inlined call is traced in its turn",
    ("write the recursion as a loop", ALLOW),
)
TOO_LONG = Break(
    "a loop of too many steps",
    "loops are unrolled into the graph",
    ("use weft.scan or weft.while_loop", "compile the body of the loop alone", ALLOW),
)
LIFETIME = Break(
    "an object whose end is seen",
    "a frame that is captured in parts holds its objects for longer than Python does",
    ("make the object, or the weak reference, outside of the compiled function",),
)
VARIABLES_SEEN = Break(
    "a function that looks at the variables of frames",
    "a frame that is captured in parts has each part of them for a while",
    ("pass the values as arguments",),
)
OVERLAP = Break(
    "inputs that share memory, one of which is written",
    "a graph writes its inputs in an order of its own",
    ("clone the other one", ALLOW),
)
MISTRACED = Break(
    "an internal error",
    "tracing the function met something that it does not know",
    ("WEFT_STRICT=1 shows where it failed", ALLOW),
)
MUTATED_ALIAS = Break(
    "a change of a value that a guard relies on",
    "the new value could not be told from the old",
    (ALLOW,),
)
WRITTEN_UNSEEN = Break(
    "a write that autograd does not see, into what it has saved for a gradient",
    "the gradient is that of the value written, which a compiled graph may have used already",
    ("write before the value is used", ALLOW),
)
ARRAY_FUNCTION = Break(
    "a NumPy function or option without a row in the table",
    "its result could differ from NumPy's",
    ("write it with functions listed in dynamo/variables/ndarray_table.py", ALLOW),
)
ARRAY_MEMORY = Break(
    "whose memory an array has",
    "an array that a graph makes lies in memory of a tensor, NumPy's own array in memory of its own",
    (ALLOW,),
)
FROM_BIRTH = (WRITTEN_UNSEEN, ARRAY_MEMORY)  # what they are about is left to Python from where it was made


@record(frozen=True)
class Place:
    """A position in the user's program. `columns` are the (line, end line, column, end column) of the bytecode."""

    file: str
    line: int
    function: str
    columns: tuple | None = None

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.line).rstrip("\n")

    def carets(self) -> str:
        """Carets under the expression, or nothing if it covers the line or spans several."""
        text = self.text
        if not self.columns or None in self.columns or self.columns[0] != self.columns[1] or not text.isascii():
            return ""
        start, end = self.columns[2], self.columns[3]
        if text[:start].strip() == "" and text[end:].strip() == "":
            return ""
        return " " * (start - len(text) + len(text.lstrip())) + "^" * (end - start)

    def __str__(self) -> str:
        lines = [f"  {self.file}:{self.line}, in {self.function}"]
        if self.text.strip():
            lines.append(f"    {self.text.strip()}")
            carets = self.carets()
            if carets:
                lines.append(f"    {carets}")
        return "\n".join(lines)


class TorchDynamoException(RuntimeError):
    """What capture raises; see exc.py."""


class Unsupported(TorchDynamoException):
    """What was met cannot be captured. `places` go from the innermost traced call outwards.

    `born`: the step of the root frame that made a value which cannot be rebuilt; made by Python, it needs not be. (Or that of the
    operation which is to be left to Python, for those of FROM_BIRTH.)
    """

    def __init__(self, reason: Break, detail: str = "", born: int | None = None):
        super().__init__(reason, detail)
        self.born = born
        self.reason = reason
        self.detail = detail
        self.places: list[Place] = []

    def __str__(self) -> str:
        what = f"{self.reason.what}: {self.detail}" if self.detail else self.reason.what
        lines = [what]
        if self.places:
            lines.append(str(self.places[0]))
            lines += [f"  called from {p.file}:{p.line}, in {p.function}" for p in self.places[1:]]
        if self.reason.why:
            lines.append(f"  why: {self.reason.why}")
        if self.reason.hints:
            lines.append(f"  try: {', or '.join(self.reason.hints)}")
        return "\n".join(lines)


class Again(Exception):
    """What was looked at has changed: the frame is to be traced from its beginning."""


class Raised(Exception):
    """The traced program raised `value` (an ExceptionVariable)."""

    def __init__(self, value: Any):
        super().__init__(value)
        self.value = value
        self.noted = False  # its context is known
        self.of_rule = False  # the shape rule of an op refused its arguments


def let_go(e: BaseException) -> None:
    """An exception that tracing has handled keeps its frames no more, nor the values of the call with them."""
    e.__traceback__ = e.__context__ = e.__cause__ = None


class NotConstant(Exception):
    """A value was asked for as a Python object and is not known as one while tracing."""
