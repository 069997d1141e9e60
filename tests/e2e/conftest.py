"""The real stack for every end-to-end test: the real handlers, layers and template."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.stack import Stack


@pytest.fixture(scope="session")
def stack_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the stack's `stack.json` and the functions' logs."""
    return tmp_path_factory.mktemp("stack")


@pytest.fixture(scope="session")
def stack(stack_state: Path) -> Iterator[Stack]:
    """A running stack: `url`, `api_key`, `invoke(function, event)`. One a session (of each xdist worker)."""
    with Stack(state=stack_state) as stack:
        yield stack
