"""`make fuzz`: FUZZ_REQUESTS requests to a stack of its own, and the figures.

FUZZ_SEED repeats an earlier run; the seed is printed first.
"""

import os
import secrets
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from local.stack import Stack
from tests.fuzz.campaign import Campaign
from tests.fuzz.wire import count_requests, strange_requests


def main() -> int:
    """The exit code: 0 where every answer kept the contract."""
    requests = int(os.environ.get("FUZZ_REQUESTS") or 20_000)
    seed = int(os.environ.get("FUZZ_SEED") or secrets.randbelow(2**32))
    print(f"FUZZ_REQUESTS={requests} FUZZ_SEED={seed}", flush=True)
    with (
        TemporaryDirectory() as folder,
        Stack(state=Path(folder)) as stack,
        closing(Campaign(stack, seed, Path(folder))) as campaign,
    ):
        try:
            # A thousand requests that cover the document, and about a fifth of ours at random.
            campaign.schemathesis("coverage", "fuzzing", "stateful", examples=max(1, requests // 60))
            campaign.send(strange_requests(), requests // 5)
            campaign.send(count_requests(), requests - campaign.figures.requests)
        finally:
            print(campaign.figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
