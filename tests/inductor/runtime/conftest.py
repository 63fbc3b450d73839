"""A library of hand-written kernels."""

import os

import pytest

from inductor.codegen import toolchain
from tests.inductor.runtime.program_builder import Builder


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Path of the kernels of kernels.cpp."""
    with open(os.path.join(os.path.dirname(__file__), "kernels.cpp"), encoding="utf-8") as f:
        return toolchain.compile_shared(f.read(), str(tmp_path_factory.mktemp("kernels")))


@pytest.fixture
def b():
    return Builder()
