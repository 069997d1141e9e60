"""What every tier shares: the built layers, and nothing that runs before a test asks for it."""

from pathlib import Path

import pytest

from tokencount.adapters.model_files import load_counter
from tokencount.domain.counting import Counter

LAYERS = Path(__file__).parents[1] / ".build" / "layers"


@pytest.fixture(scope="session")
def qwen() -> Counter:
    """The counter of the built Qwen3.5 layer."""
    return load_counter(LAYERS / "qwen3.5-9b" / "model")
