"""Modules of settings under unittest.mock, which deletes what it then sets again."""

from unittest import mock

import pytest

import weft


@pytest.mark.parametrize(
    "config, name, value",
    [
        (lambda: weft._dynamo.config, "recompile_limit", 3),
        (lambda: weft._inductor.config, "fallback_random", True),
        (lambda: weft._inductor.config, "max_autotune", True),
        (lambda: weft._inductor.config.triton, "cudagraphs", True),
        (lambda: weft._functorch.config, "functionalize_rng_ops", True),
    ],
)
def test_a_patch_by_mock_is_taken_back(config, name, value):
    module = config()
    before = getattr(module, name)
    for _ in range(2):
        with mock.patch.object(module, name, value):
            assert getattr(config(), name) == value
        assert getattr(config(), name) == before != value


def test_a_deleted_setting_is_there_again_once_it_is_set():
    config = weft._inductor.config
    before = config.fallback_random
    del config.fallback_random
    assert not hasattr(config, "fallback_random")
    config.fallback_random = before
    assert config.fallback_random == before
    with pytest.raises(AttributeError, match="none_such"):
        del config.none_such
