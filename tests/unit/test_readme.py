"""The README's table of errors is the status table."""

import re
from pathlib import Path

from tokencount.adapters.answers import STATUS

README = Path(__file__).parents[2] / "README.md"
ROW = re.compile(r"^\| (\d{3}) \| `(\w+)` \| `(\w+)` \| (\w+) \|$", re.MULTILINE)


def test_the_table_of_errors_equals_the_status_table() -> None:
    rows = {(int(status), code, kind, shape) for status, code, kind, shape in ROW.findall(README.read_text("utf-8"))}
    assert rows == {
        (answer.status, answer.code, answer.type, "OpenAI" if answer.always_openai else "Anthropic")
        for answer in STATUS.values()
    }
