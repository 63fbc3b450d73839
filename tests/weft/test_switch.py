"""`weft.as_torch()`, and versions as programs ask for them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import types

import pytest

import weft
from weft.torch_version import TorchVersion


def test_within_the_block_torch_is_weft_and_after_it_is_gone():
    with weft.as_torch() as torch:
        import torch as imported
        import torch.nn.functional as F
        import torch.utils.checkpoint
        from torch import nn

        assert imported is torch is weft
        assert F is weft.nn.functional and nn is weft.nn
        assert importlib.metadata.version("torch") == str(weft.__version__)
        assert importlib.util.find_spec("torch.nn") is not None
        assert importlib.util.find_spec("torch.not_there") is None
        with pytest.raises(ModuleNotFoundError, match="torch.not_there"):
            importlib.import_module("torch.not_there")
    assert not [name for name in sys.modules if name == "torch" or name.startswith("torch.")]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch")


def test_parts_that_are_other_packages_are_the_same_objects():
    with weft.as_torch():
        import torch._dynamo.config as config
        import torch.fx

        import aten.fx
        import dynamo.config

        assert torch.fx is aten.fx and config is dynamo.config
    assert aten.fx.__spec__.name == "aten.fx"


def test_called_without_a_block_it_stays_until_closed_and_nests():
    outer = weft.as_torch()
    with weft.as_torch():
        pass
    assert importlib.import_module("torch") is weft
    outer.close()
    outer.close()
    assert importlib.util.find_spec("torch") is None


def test_another_torch_that_is_imported_already_is_refused(monkeypatch):
    other = types.ModuleType("torch")
    other.__file__ = "/site-packages/torch/__init__.py"
    monkeypatch.setitem(sys.modules, "torch", other)
    with pytest.raises(RuntimeError, match="already imported, from /site-packages/torch/__init__.py"):
        weft.as_torch()
    assert sys.modules["torch"] is other


def test_versions_compare_as_versions():
    v = TorchVersion("2.6.0+weft0.1.0")
    assert v == weft.__version__ and isinstance(weft.__version__, str)
    assert weft.version.__version__ == weft.__version__ and weft.version.weft == "0.1.0"
    assert v > "2.6.0" and v >= (2, 6) and v < "2.10" and v < (2, 10, 1) and v != "2.6.0"
    assert TorchVersion("2.6.0") == "2.6" and TorchVersion("2.6.0rc1") < "2.6.0" and TorchVersion("2.6.0.dev1") < "2.6.0a1"
    assert TorchVersion("2.6.0.post1") > "2.6.0" and TorchVersion("2.6.0a0+git1") < "2.6.0"
    assert (TorchVersion("2.6.0") < "parrot") is ("2.6.0" < "parrot")
    assert tuple(int(n) for n in weft.__version__.split("+")[0].split(".")) == (2, 6, 0)


def test_a_missing_name_says_what_to_use_instead():
    with pytest.raises(AttributeError, match="module 'weft' has no attribute 'symeig': .*weft.linalg.eigh"):
        weft.symeig  # noqa: B018
    with pytest.raises(AttributeError, match="module 'weft' has no attribute 'no_such'$"):
        weft.no_such  # noqa: B018


def test_the_older_package_of_transforms_is_found_too():
    with weft.as_torch():
        import functorch
        from functorch import grad_and_value, make_functional
        from functorch.experimental import replace_all_batch_norm_modules_

        assert functorch is weft.functorch and callable(make_functional) and callable(replace_all_batch_norm_modules_)
        assert callable(grad_and_value)
    assert "functorch" not in sys.modules


def test_the_module_says_torch_while_the_switch_is_open():
    assert weft.__name__ == "weft"
    with weft.as_torch() as torch:
        assert torch.__name__ == "torch" and str(torch.float32) == f"{torch.float32}" == "torch.float32"
        assert repr(torch.float32) == "torch.float32" and repr(torch.Size([2])) == str(torch.ones(2).shape) == "torch.Size([2])"
        assert str([torch.int8, torch.strided, torch.preserve_format]) == "[torch.int8, torch.strided, torch.preserve_format]"
        assert repr(torch.ones(1, dtype=torch.int8)) == "tensor([1], dtype=torch.int8)"
        assert repr(torch.ones(2).max(0)).startswith("torch.return_types.max(")
        text = weft.compile(lambda x: (x + 1, f"{x.dtype} {x.shape} {x.dtype!r}", str(x.shape)), fullgraph=True)
        assert text(weft.ones(2))[1:] == ("torch.float32 torch.Size([2]) torch.float32", "torch.Size([2])")
        with weft.as_torch():
            pass
        assert torch.__name__ == "torch"
        from torch import fft

        assert fft is weft.fft
        f = weft.compile(lambda x: torch.nn.functional.relu(x) + torch.pi, fullgraph=True)
        assert f(weft.zeros(2)).tolist() == pytest.approx([3.1415927] * 2)
    assert weft.__name__ == "weft" and str(weft.float32) == "weft.float32"
    assert f(weft.zeros(2)).tolist() == pytest.approx([3.1415927] * 2)
