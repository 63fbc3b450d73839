"""Configurations: classes that answer for attributes by hooks of their own."""

import sys

from weft._dynamo import reset

import weft
from tests.dynamo.objects.twice import check, whole
from weft import nn


class Config:
    """Another name for some attributes, as configurations of models have it."""

    attribute_map = {"width": "hidden_size"}

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if name in super().__getattribute__("attribute_map"):
            name = super().__getattribute__("attribute_map")[name]
        super().__setattr__(name, value)

    def __getattribute__(self, name):
        if name != "attribute_map" and name in super().__getattribute__("attribute_map"):
            name = super().__getattribute__("attribute_map")[name]
        return super().__getattribute__(name)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.linear = nn.Linear(config.hidden_size, config.width)

    def forward(self, x):
        x = self.linear(x) * self.config.scale
        return x + self.config.width if self.config.residual else x


def test_a_config_with_a_hook_is_read_where_its_attributes_are():
    def program(C):
        config = Config(hidden_size=4, scale=2.0, residual=True)
        weft.manual_seed(0)
        block = Block(config)
        c = C(lambda v: block(v))
        results = [c(weft.ones(2, 4))]
        config.scale = 3.0
        results.append(c(weft.ones(2, 4)))
        config.residual = False
        results.append(c(weft.ones(2, 4)))
        config.width = 7
        config.residual = True
        return [*results, c(weft.ones(2, 4))]

    check(program, whole)


def test_guards_of_such_a_config_run_no_python():
    reset()
    config = Config(scale=2.0)
    f = weft.compile(lambda v: v * config.scale, backend="eager", fullgraph=True)
    f(weft.ones(3))
    ran = []
    sys.setprofile(lambda frame, event, arg: ran.append(frame.f_code.co_name) if event == "call" else None)
    try:
        f(weft.ones(3))
    finally:
        sys.setprofile(None)
    assert "__getattribute__" not in ran


def test_a_hook_that_answers_otherwise_is_obeyed():
    class Upper:
        def __init__(self):
            self.k = 3

        def __getattribute__(self, name):
            return object.__getattribute__(self, name) if name != "k" else 10

        def __getattr__(self, name):
            return name.upper()

    def program(C):
        o = Upper()

        def f(v):
            try:
                missing = o.zz
            except AttributeError as e:
                missing = str(e)
            return v * o.k, missing, o.__dict__

        return C(f)(weft.ones(2))

    check(program)


def test_properties_that_fail_fall_back_to_getattr():
    class Lazy:
        @property
        def p(self):
            raise AttributeError("inner")

        def __getattr__(self, name):
            return 5 if name == "p" else object.__getattribute__(self, name)

    def program(C):
        o = Lazy()

        def f(v):
            try:
                text = o.missing
            except AttributeError as e:
                text = str(e)
            return v * o.p, text, hasattr(o, "q"), getattr(o, "q", 1)

        return C(f)(weft.ones(2))

    check(program)
