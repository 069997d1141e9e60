"""What every tier shares: the built layers, DynamoDB's own engine, and nothing that runs before a test asks for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dynamodb_local import dynamodb_local
from tokencount.adapters.egress import EgressGuard
from tokencount.adapters.images import Images
from tokencount.adapters.model_files import load_counter
from tokencount.adapters.remote_images import RemoteImages, without_budget
from tokencount.domain.counting import Counter

LAYERS = Path(__file__).parents[1] / ".build" / "layers"


@pytest.fixture(scope="session")
def qwen() -> Counter:
    """The counter of the built Qwen3.5 layer."""
    images = Images(RemoteImages(EgressGuard(), without_budget).fetch)
    return load_counter(LAYERS / "qwen3.5-9b" / "model", images)


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of DynamoDB Local; its tests are marked `dynamodb_local`, and grouped, so that one is enough."""
    with dynamodb_local(tmp_path_factory.mktemp("dynamodb-local")) as url:
        yield url
