"""The real stack for every end-to-end test: the real handlers, layers and template."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.stack import Stack
from tests.support.clients import SDKS, Client, running
from tests.support.first_answers import Front, front_of


@pytest.fixture(scope="session")
def stack_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the stack's `stack.json` and the functions' logs."""
    return tmp_path_factory.mktemp("stack")


@pytest.fixture(scope="session")
def stack(stack_state: Path) -> Iterator[Stack]:
    """A running stack: `url`, `api_key`, `invoke(function, event)`. One a session (of each xdist worker)."""
    with Stack(state=stack_state, warm=False) as stack:
        yield stack


@pytest.fixture(scope="session", params=SDKS)
def client(request: pytest.FixtureRequest, stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Each SDK, running, with the stack's key as its `auth_token`."""
    # A home without settings: the SDKs look for profiles there, and for credentials in the environment.
    environment = {"HOME": str(tmp_path_factory.mktemp("home")), "PATH": os.environ["PATH"]}
    with running(request.param, stack.url, {"auth_token": stack.api_key}, environment) as client:
        yield client


@pytest.fixture
def front(stack: Stack) -> Iterator[Front]:
    """A proxy before the stack that can give the first answers itself."""
    with front_of(stack.url) as front:
        yield front
