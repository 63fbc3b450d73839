"""The toy compiler, put in place for one test."""

import pytest

from dynamo import _eval_frame, eval_frame
from tests.dynamo.eval_frame.toy import Refused, ToyCompiler


@pytest.fixture
def toy():
    def start(make):
        compiler = ToyCompiler(make)
        _eval_frame.set_compiler(compiler, Refused)
        return compiler

    yield start
    _eval_frame.set_compiler(eval_frame._Compiler(), None)
    _eval_frame.reset()
    assert not _eval_frame.is_open() and _eval_frame.active_config() is None
