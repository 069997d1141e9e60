"""What a snapshot holds is restored many times and much later: no connection, no randomness of it may be used."""

import importlib
import random
import sys
from collections.abc import Callable
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.http_server import http_server
from tokencount.adapters import aws, snapshot

Hooks = list[tuple[Callable[[], object], tuple[()], dict[str, object]]]


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> tuple[Hooks, Hooks]:
    """Those of Lambda's runtime, registered by this test: before the snapshot, and after the restoration."""
    runtime = pytest.importorskip("snapshot_restore_py", reason="the runtime's hooks come with its client, on Linux")
    before: Hooks = []
    after: Hooks = []
    monkeypatch.setattr(runtime, "_before_snapshot_registry", before)
    monkeypatch.setattr(runtime, "_after_restore_registry", after)
    return before, after


def run(hooks: Hooks) -> None:
    """As Lambda's runtime client does."""
    for hook, arguments, keywords in hooks:
        hook(*arguments, **keywords)


def test_a_connection_that_was_opened_before_the_snapshot_is_not_used_after_it(
    hooks: tuple[Hooks, Hooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = []

    class Secrets(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            connections.append(self.client_address)
            # The client may leave it open.
            self.request.settimeout(10)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with ExitStack() as ending:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", ending.enter_context(http_server(Secrets)))
        client = aws.client("secretsmanager")
        ending.callback(client.close)
        for _ in range(2):
            client.get_secret_value(SecretId="keys")
        assert len(connections) == 1
        before, after = hooks
        run(before)
        run(after)
        client.get_secret_value(SecretId="keys")
        assert len(connections) == 2


def test_environments_restored_from_one_snapshot_draw_different_numbers(hooks: tuple[Hooks, Hooks]) -> None:
    aws.session()
    held = random.getstate()

    def drawn() -> float:
        random.setstate(held)
        run(hooks[1])
        return random.random()

    assert len({drawn() for _ in range(3)}) == 3


def test_where_there_is_no_such_runtime_nothing_is_registered_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "snapshot_restore_py", None)
        own = importlib.reload(snapshot)
        own.before_snapshot(own.renew_randomness)
        own.after_restore(own.renew_randomness)
    importlib.reload(snapshot)
