"""`make fuzz`: FUZZ_REQUESTS requests in rounds, each to a stack of its own, and the figures.

A round's number of requests and seed are printed when it begins, and repeat it: FUZZ_REQUESTS=… FUZZ_SEED=… make fuzz.
"""

import os
import secrets
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from local.stack import Stack
from tests.fuzz.campaign import Campaign
from tests.fuzz.client import Figures
from tests.fuzz.wire import count_requests, strange_requests

ROUND = 2500  # moto looks through every record for a list of them, and the service waits a second for a table


def main() -> None:
    """Raises Broken at the first answer that does not keep the contract."""
    requests = int(os.environ.get("FUZZ_REQUESTS") or 20_000)
    seed = int(os.environ.get("FUZZ_SEED") or secrets.randbelow(2**32))
    figures = Figures()
    try:
        while (missing := requests - figures.requests) > 0:
            _round(figures, min(missing, ROUND), seed)
            seed += 1
    finally:
        print(figures)


def _round(figures: Figures, requests: int, seed: int) -> None:
    print(f"FUZZ_REQUESTS={requests} FUZZ_SEED={seed}", flush=True)
    before = figures.requests
    with (
        TemporaryDirectory() as folder,
        Stack(state=Path(folder), warm=False) as stack,
        closing(Campaign(stack, seed, Path(folder), figures)) as campaign,
    ):
        campaign.send(strange_requests(), requests // 5)
        campaign.schemathesis("examples", "fuzzing", "stateful", examples=max(1, requests // 100))
        if not before:
            campaign.schemathesis("coverage")
        campaign.send(count_requests(), before + requests - figures.requests)


if __name__ == "__main__":
    main()
