"""The served models as parameters of tests: each model's on one worker of a run, where its engines are loaded once."""

from typing import Any

import pytest

from tests.support.layers import ROOT

LAYERS = sorted(path.parent.name for path in (ROOT / "layers").glob("*/manifest.toml"))


def of_model(name: str, *values: Any, case: str = "") -> Any:
    """A model's layer, and further values, of which `case` tells in the test's id."""
    return pytest.param(name, *values, marks=pytest.mark.xdist_group(name), id=f"{name} {case}".rstrip())


EACH_MODEL = [of_model(name) for name in LAYERS]
