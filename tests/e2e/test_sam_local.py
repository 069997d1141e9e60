"""`make sam-local`: the functions and layers as built, in containers.

`make test-sam-local` runs these, and with them the tests that ask for no more than `server`; what SAM local does not
emulate is marked `api_gateway`.
"""

import errno
import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import urllib3

from local.docker import Host
from local.port import HOST
from local.sam import SamLocal
from local.stack import ROOT
from tests.support.local import children, runs
from tests.support.requests import EXAMPLE
from tokencount.adapters.node_protocol import COUNT_PATH

pytestmark = pytest.mark.docker

COUNTED = {"input_tokens": 27}


def containers() -> set[str]:
    told = subprocess.run(["docker", "ps", "--quiet"], check=True, capture_output=True, text=True)
    return set(told.stdout.split())


def test_every_model_is_served_from_its_layer(sam_local: SamLocal) -> None:
    for model in sam_local.models:
        headers = {"Authorization": f"Bearer {sam_local.api_key}"}
        body = EXAMPLE | {"model": model}
        answer = urllib3.request("POST", sam_local.url + COUNT_PATH, json=body, headers=headers, timeout=60)
        assert answer.status == 200, answer.data
    assert len(sam_local.models) == len(list((ROOT / "layers").glob("*/manifest.toml")))


def test_sam_local_invoke_runs_an_event(sam_local: SamLocal) -> None:
    done = subprocess.run(["bash", "-c", sam_local.invoke], check=True, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    assert (answer["statusCode"], json.loads(answer["body"])) == (200, COUNTED)


def test_what_stands_in_for_aws_listens_on_the_bridge_of_the_containers_alone(host: Host, sam_local: SamLocal) -> None:
    address = urlsplit(sam_local.aws_url)
    assert address.hostname == host.address
    if address.hostname != HOST:  # as it is where the engine has a virtual machine of its own
        with socket.socket() as elsewhere:
            assert elsewhere.connect_ex((HOST, address.port)) == errno.ECONNREFUSED


@pytest.fixture
def root(sam_local: SamLocal, tmp_path: Path) -> Path:
    """This repository, to build in and run from without disturbing a `make sam-local` of the user's."""
    # Copies of what is built: SAM takes a link's folder for that of what it leads to.
    for name in ("local", "functions", "layers", "events"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "template.yaml", tmp_path)
    (tmp_path / ".build").mkdir()
    for name in (".venv", ".venv-sam", ".build/layers"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_a_curl_that_works_is_printed_and_a_signal_ends_every_process_and_container(root: Path) -> None:
    before = containers()
    command = [sys.executable, "-m", "local", "--port", "0", "--sam"]
    with subprocess.Popen(command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout
            printed: list[str] = []
            while "ready\n" not in printed:
                printed.append(process.stdout.readline())
                assert printed[-1], process.stderr and process.stderr.read()
            pids = children(process.pid)
            curl = "".join(printed[next(i for i, line in enumerate(printed) if line.startswith("curl ")) :][:4])
            answer = subprocess.run(["bash", "-c", curl], capture_output=True, text=True, check=True)
            assert json.loads(answer.stdout) == COUNTED
            assert len(containers() - before) == 2  # the edge's and the counter's
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, output, errors) == (0, "stopped\n", "")
    assert not any(runs(pid) for pid in pids)
    assert containers() == before
