"""Loaded by schemathesis: our own contract as one more check of each answer, and a line for the figures."""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import schemathesis

from docs.openapi.document import document
from tests.fuzz.contract import Answer, Contract

ANSWERS = "FUZZ_ANSWERS"  # the variable that names the file of the lines
_CONTRACT = Contract(document())


@schemathesis.check
def keeps_the_contract(
    _context: schemathesis.CheckContext, response: schemathesis.Response, _case: "schemathesis.Case[Any]"
) -> None:
    """Raises AssertionError where it does not."""
    request = response.request
    headers = {name.lower(): values[-1] for name, values in response.headers.items()}
    answer = Answer(response.status_code, headers, response.content, response.elapsed)
    method, url = str(request.method), urlsplit(str(request.url))
    shown = f"{method} {url.path[:200]} {request.headers.get('content-length', 0)} bytes"
    with Path(os.environ[ANSWERS]).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps([shown, answer.status, answer.code, answer.seconds]) + "\n")
    faults = _CONTRACT.faults(method, url.path, answer)
    assert not faults, f"{shown}: {'; '.join(faults)}"
