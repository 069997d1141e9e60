"""Compares an answer with the stored one, in which `{{NAME}}` stands for what differs from run to run."""

import json
import re
from collections.abc import Iterator
from typing import Any

MASKS = {
    "REQUEST_ID": r"req_[0-9a-hjkmnp-tv-z]{26}",
    "ID": r"[a-z]+_\w+",
    "HEX": r"[0-9a-f]{16}|[0-9a-f]{64}",
    "TIME": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)",
    "NUMBER": r"\d+(\.\d+)?",
}


def differences(expected: Any, actual: Any, where: str = "") -> Iterator[str]:
    """One phrase for each place in which two JSON values differ."""
    match expected, actual:
        case dict(), dict():
            for key in expected | actual:
                place = f"{where}.{key}".lstrip(".")
                if key not in actual:
                    yield f"{place} is missing"
                elif key not in expected:
                    yield f"{place} is not expected"
                else:
                    yield from differences(expected[key], actual[key], place)
        case list(), list() if len(expected) == len(actual):
            for index, pair in enumerate(zip(expected, actual, strict=True)):
                yield from differences(*pair, f"{where}.{index}")
        case str(), _ if "{{" in expected:
            text = actual if isinstance(actual, str) else json.dumps(actual)
            if not _pattern(expected).fullmatch(text):
                yield f"{where} is {text}, expected {expected}"
        case _ if type(expected) is not type(actual) or expected != actual:
            yield f"{where} is {json.dumps(actual)}, expected {json.dumps(expected)}"


def _pattern(masked: str) -> re.Pattern[str]:
    pieces = re.split(r"\{\{(\w+)\}\}", masked)
    return re.compile(
        "".join(f"(?:{MASKS[piece]})" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces))
    )
