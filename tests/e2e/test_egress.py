"""Images by url through the running stack, whose guard is the one of production: what it refuses, it refuses here."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import urllib3

from local.stack import Stack
from tests.support.requests import request, text, user
from tests.support.server import Server

COUNT = "/v1/infer/v1/messages/count_tokens"
PATH = "messages.0.content.1.source.url"
NOT_PUBLIC = "The image is not fetched: its host has an address that is not public"
DENIED = {
    "https://127.0.0.1/": NOT_PUBLIC,
    "https://localhost/": NOT_PUBLIC,
    "https://[::1]/": NOT_PUBLIC,
    "https://169.254.169.254/latest/meta-data/": NOT_PUBLIC,
    "https://[::ffff:169.254.169.254]/": NOT_PUBLIC,
    "https://[64:ff9b::a9fe:a9fe]/": NOT_PUBLIC,
    "https://[fd00:ec2::254]/": NOT_PUBLIC,
    "https://10.0.0.1/": NOT_PUBLIC,
    "https://2130706433/": NOT_PUBLIC,
    "https://0177.0.0.1/": NOT_PUBLIC,
    "https://ok.example@169.254.169.254/": "The image is not fetched: a user name in the url is not allowed",
    "https://ok.example\\@169.254.169.254/": "The image is not fetched: a backslash in the url is not allowed",
    "https://ok.example:8443/": "The image is not fetched: only https on port 443 is allowed",
}


def ask(server: Server, *urls: str) -> tuple[urllib3.BaseHTTPResponse, Any]:
    images = [{"type": "image", "source": {"type": "url", "url": url}} for url in urls]
    headers = {"authorization": f"Bearer {server.api_key}", "content-type": "application/json"}
    body = json.dumps(request(user(text("what is this?"), *images)))
    answer = urllib3.request("POST", server.url + COUNT, body=body, headers=headers, retries=False, timeout=30)
    return answer, answer.json()


@pytest.mark.parametrize("url", DENIED)
def test_what_is_not_on_the_public_internet_is_403_and_its_record_has_no_url(url: str, server: Server) -> None:
    answer, body = ask(server, url)
    assert (answer.status, body["b3os"]) == (403, {"code": "egress_denied", "param": PATH})
    assert body["error"] == {"type": "permission_error", "message": DENIED[url]}
    assert body["request_id"] == answer.headers["request-id"]
    headers = {"authorization": f"Bearer {server.api_key}"}
    record = urllib3.request("GET", f"{server.url}/v1/requests/{body['request_id']}", headers=headers).json()
    assert record["error"] == {"type": "permission_error", "code": "egress_denied", "param": PATH}
    assert "169.254" not in json.dumps(record)
    assert "fetch" in record["timing"]


@pytest.mark.parametrize(
    "url", ["http://images.example/", "ftp://images.example/", "file:///etc/passwd", "HTTPS://a/", ""]
)
def test_what_is_not_https_is_400_by_the_schema(url: str, server: Server) -> None:
    answer, body = ask(server, url)
    assert (answer.status, body["b3os"]) == (400, {"code": "invalid_request", "param": PATH})


def test_21_images_are_400_and_name_the_one_too_many(server: Server) -> None:
    answer, body = ask(server, *["https://images.example/"] * 21)
    assert (answer.status, body["b3os"]["param"]) == (400, "messages.0.content.21.source.url")


def test_nothing_on_this_machine_is_reached_by_its_name_and_no_log_tells_a_url(stack: Stack, stack_state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        answer, _ = ask(stack, f"https://localhost:{listener.getsockname()[1]}/secret-path")
        assert answer.status == 403
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert "secret-path" not in "".join(log.read_text() for log in (stack_state / "logs").glob("*.log"))
