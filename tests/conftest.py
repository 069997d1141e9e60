"""What every tier shares: the built layers, DynamoDB's own engine, and nothing that runs before a test asks for it."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from tests.support.dynamodb_local import dynamodb_local
from tests.support.environments import unavailable
from tokencount.adapters import aws
from tokencount.adapters.egress import EgressGuard
from tokencount.adapters.images import Images
from tokencount.adapters.model_files import load_counter
from tokencount.adapters.remote_images import RemoteImages, without_budget
from tokencount.domain.counting import Counter

LAYERS = Path(__file__).parents[1] / ".build" / "layers"


# At this time a template that reads the clock reads it.
NOW = datetime(2026, 7, 26, 12)
Counters = Callable[[str], Counter]


@pytest.fixture(scope="session")
def counters() -> Counters:
    """Gives the counter of a built layer by its folder's name; without the layer the test is skipped."""
    return _counters(None)


@pytest.fixture(scope="session")
def fast_counters() -> Counters:
    """The same with the fast engine, which every built layer admits."""
    return _counters(0)


def _counters(fast_engine_after: int | None) -> Counters:
    images = Images(RemoteImages(EgressGuard(), without_budget).fetch)

    @cache
    def load(name: str) -> Counter:
        return load_counter(LAYERS / name / "model", images, lambda: NOW, fast_engine_after)

    def counter(name: str) -> Counter:
        if not (LAYERS / name / "model").exists():
            unavailable(f"the layer {name} is not built, since its files could not be had: make layers")
        return load(name)

    return counter


@pytest.fixture(scope="session")
def qwen(counters: Counters) -> Counter:
    """The counter of the built Qwen3.5 layer."""
    return counters("qwen3.5-9b")


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of DynamoDB Local; its tests are marked `dynamodb_local`, and grouped, so that one is enough."""
    with dynamodb_local(tmp_path_factory.mktemp("dynamodb-local")) as url:
        yield url


@pytest.fixture(autouse=True)
def own_session() -> None:
    """A test's AWS credentials are its own, and none of the test before."""
    aws.session.cache_clear()
