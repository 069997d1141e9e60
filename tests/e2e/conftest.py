"""The real stack for every end-to-end test: the real handlers, layers and template.

With `--sam-local` it is SAM local that is under test, and those tests run that ask for no more than `server`.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from local import docker
from local.errors import StackError
from local.sam import SAM, ImageMissing, SamLocal
from local.stack import Stack
from tests.support.clients import SDKS, Client, running
from tests.support.first_answers import Front, front_of
from tests.support.server import Server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sam-local", action="store_true", help="run the tests of the service against SAM local")


def sam_local_is_asked_for(config: pytest.Config) -> bool:
    # Where pytest was given no folder, it does not know the option.
    return bool(config.getoption("--sam-local", default=False))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not sam_local_is_asked_for(config):
        for item in items:
            if item.get_closest_marker("docker"):
                item.add_marker(pytest.mark.skip("minutes long: make test-sam-local"))
        return
    asked = [item for item in items if applies(item)]
    for item in asked:
        item.add_marker(pytest.mark.docker)
    config.hook.pytest_deselected(items=[item for item in items if not applies(item)])
    items[:] = asked


def applies(item: pytest.Item) -> bool:
    """Whether a test is of SAM local itself, or of no more than any server does."""
    if item.get_closest_marker("docker"):
        return True
    names = set(getattr(item, "fixturenames", ()))
    return "server" in names and not names & {"stack", "stack_state"} and not item.get_closest_marker("api_gateway")


@pytest.fixture(scope="session")
def stack_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the stack's `stack.json` and the functions' logs."""
    return tmp_path_factory.mktemp("stack")


@pytest.fixture(scope="session")
def stack(stack_state: Path) -> Iterator[Stack]:
    """A running stack: `url`, `api_key`, `invoke(function, event)`. One a session (of each xdist worker)."""
    with Stack(state=stack_state, warm=False) as stack:
        yield stack


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Server:
    """The service under test, wherever it runs: its URL, its first credentials, and its tables' AWS."""
    running: Server = request.getfixturevalue("sam_local" if sam_local_is_asked_for(request.config) else "stack")
    return running


@pytest.fixture(scope="session")
def host() -> docker.Host:
    """This machine, with a Docker engine and the SAM CLI."""
    if not SAM.exists():
        pytest.skip("the SAM CLI is not installed: make .venv-sam/installed")
    try:
        return docker.host()
    except StackError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def sam_local(host: docker.Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SamLocal]:
    """SAM local; it needs the image of Lambda's runtime, or a registry that has it."""
    state = tmp_path_factory.mktemp("sam-local")
    with ExitStack() as ending:
        try:
            service = ending.enter_context(SamLocal(state=state, built=state / "built"))
        except ImageMissing as missing:
            pytest.skip(str(missing))
        yield service


@pytest.fixture(scope="session", params=SDKS)
def client(
    request: pytest.FixtureRequest, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """Each SDK, running, with the service's key as its `auth_token`."""
    # A home without settings: the SDKs look for profiles there, and for credentials in the environment.
    environment = {"HOME": str(tmp_path_factory.mktemp("home")), "PATH": os.environ["PATH"]}
    with running(request.param, server.url, {"auth_token": server.api_key}, environment) as client:
        yield client


@pytest.fixture
def front(server: Server) -> Iterator[Front]:
    """A proxy before the service that can give the first answers itself."""
    with front_of(server.url) as front:
        yield front
