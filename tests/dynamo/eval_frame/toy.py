"""A toy in the compiler's place: what the tests of the hook, entries and compiled functions start from."""

import threading

from dynamo import _eval_frame
from dynamo._eval_frame import Entry
from dynamo.eval_frame import Config
from dynamo.guard_program import GuardCompiler

CONFIG = Config(backend=print)


class Refused(Exception):
    """A graph's word for data it does not take."""


class ToyCompiler:
    """Compiles by calling `make(code, function, args, config)`; remembers what it was asked."""

    def __init__(self, make):
        self.make = make
        self.asked = []
        self.told = []

    def compile_frame(self, code, function, args, config, record):
        self.asked.append((code.co_name, dict(args)))
        assert _eval_frame.active_config() is None
        assert threading.active_count() > 1 or not _eval_frame.is_open()
        return self.make(code, function, args, config)

    def did_not_raise(self, code, expected, config):
        self.told.append(("returned", code.co_name))

    def limit_reached(self, code, limit, config):
        self.told.append(("limit", code.co_name, limit))

    def guards_inconsistent(self, code, function, args, entry):
        self.told.append(("inconsistent", code.co_name))

    def rerun_returned(self, code, refusal):
        self.told.append(("rerun", code.co_name))


def entry(code, config, guards=(), new=None, graph=None, inputs=(), result=None, **more):
    compiler = GuardCompiler(code, list(guards), inputs)
    program = compiler.compile()
    if new is not None:
        return Entry(config, program, code=new, **more)
    return Entry(config, program, graph=graph, inputs=tuple(map(compiler.register, inputs)), result=result, **more)


def recoded(code, **constants):
    """The code with constants exchanged: a visible change that keeps everything else."""
    swap = {v: k for k, v in constants.items()}
    consts = tuple(swap.get(c, c) if isinstance(c, str) else c for c in code.co_consts)
    return code.replace(co_consts=consts, co_stacksize=code.co_stacksize + 7)


def swapping(code, function, args, config):
    return entry(code, config, new=recoded(code, compiled="eager"))


def opening(code, function, args, config):
    return entry(code, config, new=recoded(code, compiled="eager"), opens_window=True)
