"""A Powertools logger whose lines a test can read."""

import json
from io import StringIO
from typing import Any
from uuid import uuid4

from aws_lambda_powertools import Logger


class ReadableLogger(Logger):
    """A logger of its own: loggers of one service name share their first stream."""

    def __init__(self) -> None:
        self.text = StringIO()
        super().__init__(service=f"test-{uuid4()}", stream=self.text)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What was logged so far."""
        return [json.loads(line) for line in self.text.getvalue().splitlines()]
