"""The container's process in the local stack: started, asked, started again, and never left behind."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local.endpoint import Endpoint
from local.errors import StackError
from local.stack import ROOT
from tests.conftest import LAYERS
from tests.support.local import runs
from tests.support.requests import EXAMPLE

STAND_IN = "tests.support.endpoint_container"
MODEL = LAYERS / "qwen3.5-9b" / "model"
LEFT = """
import asyncio, os, sys
from pathlib import Path
from local.endpoint import Endpoint

async def main():
    endpoint = Endpoint(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
    await endpoint.start()
    print(endpoint.pid, flush=True)
    os._exit(0)

asyncio.run(main())
"""


def endpoint(log: Path, module: str = STAND_IN) -> Endpoint:
    return Endpoint(module, ROOT, MODEL, log)


def test_a_container_that_ended_is_started_again_by_the_next_request(tmp_path: Path) -> None:
    async def run() -> None:
        tried = endpoint(tmp_path / "log")
        try:
            for _ in range(2):
                answer = await tried.invoke(json.dumps(EXAMPLE).encode(), {"content-type": "application/json"})
                assert (answer.status, answer.json()) == (200, {"input_tokens": 27})
                tried.close()
        finally:
            tried.close()

    asyncio.run(run())


def test_a_container_that_does_not_start_is_one_clear_sentence(tmp_path: Path) -> None:
    tried = endpoint(tmp_path / "log", "tests.support.no_such_module")
    with pytest.raises(StackError, match="the endpoint's container does not start: see"):
        asyncio.run(tried.start())
    tried.close()
    assert "no_such_module" in (tmp_path / "log").read_text()


def test_a_container_ends_with_the_stack_however_that_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEFT, STAND_IN, str(ROOT), str(MODEL), str(tmp_path / "log")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "functions")])}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    while runs(int(done.stdout)):  # the test's own timeout ends what never happens
        time.sleep(0.05)
