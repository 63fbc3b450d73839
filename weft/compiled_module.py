"""What `weft.compile(module)` returns."""

from __future__ import annotations

import copy
import copyreg
import functools
import types
import weakref
from typing import Any

from aten.fx.graph_module import GraphModule
from dynamo import trace_rules
from dynamo._eval_frame import CompiledFunction, record
from dynamo.convert_frame import ALWAYS
from dynamo.eval_frame import Config, disable, intern_config, optimize
from dynamo.guards import ClassLookupIs, FunctionCodeIs, Guard, IdIs, LacksDefaults, LacksInstanceAttr, LengthIs, TypeIs
from dynamo.polyfills.outermost import calling
from dynamo.source import Attr, InstanceDict, Item, Local, Object
from weft.nn.hooks import every
from weft.nn.module import Module

# In the dictionary of a function: [(a class, the function, what it said, its copy for modules of the class)]
COPIES = "_weft_copies"
Said = tuple[types.CodeType, Any, Any]  # a function's code and defaults, which can be put in place of its own


def said(function: types.FunctionType) -> Said:
    return function.__code__, function.__defaults__, function.__kwdefaults__


def _same(a: Said, b: Said) -> bool:
    return a[0] is b[0] and a[1] is b[1] and a[2] is b[2]


def own_function(function: types.FunctionType, cls: type) -> types.FunctionType:
    """The function with a code object that modules of this very class share: what is compiled for one serves others that
    pass the same guards. (Kept with the function, so that the two go together.)"""
    copies = function.__dict__.setdefault(COPIES, [])
    for known, original, then, copied in copies:
        if known() is cls and original is function and _same(then, said(function)):
            return copied
    copies[:] = [copy for copy in copies if copy[0]() is not None and _same(copy[2], said(function))]
    copies.append((weakref.ref(cls), function, said(function), _copy(function)))
    return copies[-1][3]


def _copy(function: types.FunctionType) -> types.FunctionType:
    made = types.FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    return made


CALL = Module.__call__
HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")


def _guards_of_calls(cls: weakref.ref, forward: Said, code: types.CodeType) -> list[Guard]:
    """What a call of an object of the class means: its `forward`, which says what it said, with no hook."""
    me, home, known = Local(code.co_varnames[0]), Object(cls()), cls()
    own, defaults, kwdefaults = forward
    function = Object(known.forward)
    plain = defaults is None and kwdefaults is None
    return [
        TypeIs(me, known),
        ClassLookupIs(home, "__call__", CALL),
        ClassLookupIs(home, "forward", known.forward),
        FunctionCodeIs(function, own),
        *(
            [LacksDefaults(function)]
            if plain
            else [IdIs(Attr(function, "__defaults__"), defaults), IdIs(Attr(function, "__kwdefaults__"), kwdefaults)]
        ),
        LacksInstanceAttr(me, "forward"),
        *(LengthIs(Item(InstanceDict(me), hooks), 0) for hooks in HOOKS),
    ]


class OptimizedModule(Module):
    """A Module whose calls are compiled. Everything else is the original's, which is `_orig_mod`.

    While the module is called as nn.Module says, without hooks, its `forward` is what is compiled; a `__call__` of its
    class, hooks and a `forward` put on the instance or class later are found at each call.
    """

    _orig_mod: Any

    def __init__(self, module: Module, config: Any):
        super().__init__()
        self._orig_mod = module
        put = object.__setattr__
        put(self, "_config", config)
        del self.__dict__["training"]  # the original's is meant
        put(self, "_compiled", {})  # function → (what it said, compiled copy of it)
        put(self, "_known", None)  # (class, its forward, what that said) for which `_fast` was made
        put(self, "_fast", None)
        if isinstance(module, GraphModule):
            put(self, "_fast", optimize(calling(module), config))
        elif self._is_plain():
            self._make_fast()

    def _is_plain(self) -> bool:
        """Whether a call of the module is a call of its class's `forward`."""
        module = self._target
        forward: Any = module.forward
        return (
            type(module).__call__ is CALL
            and isinstance(forward, types.MethodType)
            and forward.__func__ is type(module).forward
            and isinstance(forward.__func__, types.FunctionType)
            and forward.__func__.__code__.co_argcount > 0
            and not any(getattr(module, hooks) for hooks in HOOKS)
            and not every.calls
        )

    def _make_fast(self) -> None:
        """`_fast` calls what was compiled of `forward`, whose guards say too that this is what a call means."""
        module, cls = self._target, type(self._target)
        compiled = self._compile(cls.forward)
        always = functools.partial(_guards_of_calls, weakref.ref(cls), said(cls.forward))
        record(compiled.__wrapped__.__code__)[ALWAYS] = always
        me = weakref.ref(self)
        fast = CompiledFunction(compiled.__wrapped__, compiled.config, lambda _, *a, **k: me()._checked(*a, **k))
        object.__setattr__(self, "_fast", types.MethodType(fast, module))
        object.__setattr__(self, "_known", (cls, cls.forward, *said(cls.forward)))

    def _compile(self, function: types.FunctionType) -> Any:
        """The compiled copy of a method of the module's class."""
        then, made = self._compiled.get(function, (None, None))
        if then is None or not _same(then, said(function)):
            made = optimize(own_function(function, type(self._target)), self._config)
            self._compiled[function] = said(function), made
        return made

    def _checked(self, *args: Any, **kwargs: Any) -> Any:
        """A call for which nothing was compiled yet, or another thing than `forward` is meant."""
        module = self._target
        call: Any = type(module).__call__
        if self._is_plain():
            call = type(module).forward
            now = (type(module), call, *said(call))
            if self._known is None or any(a is not b for a, b in zip(now, self._known)):
                self._make_fast()
        elif call is CALL:
            call = Module._call_impl  # past what `module.compile()` left on the instance
        if isinstance(call, types.FunctionType):
            return self._compile(call)(module, *args, **kwargs)
        return module(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast or self._checked
        return fast(*args, **kwargs) if kwargs else fast(*args)

    @property
    def dynamo_ctx(self) -> Any:
        """What compiles other functions as this module is compiled: dynamo_ctx(f)."""
        return functools.partial(optimize, config=self._config)

    def __reduce_ex__(self, protocol: Any) -> Any:
        config = self._config
        how = {"backend": config.backend, "fullgraph": config.fullgraph, "dynamic": config.dynamic, "limit": config.limit}
        return copyreg.__newobj__, (type(self),), {"module": self._orig_mod, **how}  # type: ignore[attr-defined]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state.pop("module"), intern_config(Config(**state)))  # type: ignore[misc]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self.__dict__["_modules"]["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
            if name == "_orig_mod":
                object.__setattr__(self, "_target", value)  # the same, found without __getattr__
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __deepcopy__(self, memo: dict) -> OptimizedModule:
        return OptimizedModule(copy.deepcopy(self._orig_mod, memo), self.__dict__["_config"])

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __getitem__(self, key: Any) -> Any:
        return self._orig_mod[key]

    def __iter__(self) -> Any:
        return iter(self._orig_mod)

    def __contains__(self, key: Any) -> bool:
        return key in self._orig_mod

    def train(self, mode: bool = True) -> OptimizedModule:
        self._orig_mod.train(mode)
        return self

    def __repr__(self) -> str:
        return f"OptimizedModule({self._orig_mod!r})"


class DisabledModule(OptimizedModule):
    """A Module whose calls, hooks included, are left to Python. Everything else is the original's, which is `_orig_mod`."""

    def __init__(self, module: Module, reason: str | None = None):
        Module.__init__(self)
        self._orig_mod = module
        del self.__dict__["training"]  # the original's is meant
        put = object.__setattr__
        put(self, "_reason", reason)
        put(self, "_call", disable(types.MethodType(type(module).__call__, module)))
        self._call.__func__.__dict__[trace_rules.DISABLED] = reason or True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return DisabledModule, (self._orig_mod, self._reason)

    def __deepcopy__(self, memo: dict) -> DisabledModule:
        return DisabledModule(copy.deepcopy(self._orig_mod, memo), self._reason)

    def __repr__(self) -> str:
        return f"DisabledModule({self._orig_mod!r})"
