"""A function's first answer in this process: `first_answer.py HANDLER EVENT`, both as Lambda has them.

Run as a script, by its path: what else it imported would be measured as well. It prints how much memory it took, in MB.
"""

import importlib
import json
import sys


class Context:
    """What is read of Lambda's."""

    aws_request_id = "first"

    def get_remaining_time_in_millis(self) -> int:
        """Enough."""
        return 20_000


def main(handler: str, event: str) -> None:
    """Raises where the answer is no success."""
    module, name = handler.rsplit(".", 1)
    with open(event, encoding="utf-8") as file:  # noqa: PTH123 - pathlib would be imported for it
        request = json.load(file)
    answer = getattr(importlib.import_module(module), name)(request, Context())
    assert answer["statusCode"] == 200, answer
    with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123
        [peak] = [line.split()[1] for line in file if line.startswith("VmHWM")]
    print(int(peak) / 1000)


main(sys.argv[1], sys.argv[2])
