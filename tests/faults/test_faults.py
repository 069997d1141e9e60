"""Each part of the running stack is broken in turn while requests flow: what clients see, what is kept, how it heals.

The short form breaks each for a moment, or until a function has run out of a shortened time; `make faults` breaks each
for longer, with the template's own times, and writes docs/reliability.md.
"""

import time

import pytest

from tests.faults.audit import Audit
from tests.faults.conftest import LONG, Rows
from tests.faults.faults import FAULTS, Fault
from tests.faults.report import row
from tests.faults.stand import EDGE, Stand
from tests.faults.traffic import Traffic
from tests.support.local import runs
from tokencount.domain.limits import LEASE_SECONDS

pytestmark = [pytest.mark.dynamodb_local, pytest.mark.xdist_group("faults")]

# Within which the service has to be as it was: the leases of killed functions have ended, and all was asked once.
RECOVERS = LEASE_SECONDS + 5.0


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_told_in_documented_answers_that_all_have_their_records_and_once_it_is_over_all_is_as_before(
    fault: Fault, stand: Stand, rows: Rows
) -> None:
    audit, traffic, held = Audit(stand), Traffic(stand), stand.held()
    with traffic.flowing():
        assert traffic.wait(lambda: traffic.all_good_since(None), RECOVERS), traffic.seen("before")
        with fault.breaks(stand):
            traffic.broke = time.monotonic()
            time.sleep(_seconds(fault, stand))
            # However slow the machine is: a worker that starts within the fault has to come as far as to meet it.
            traffic.wait(lambda: fault.seen <= traffic.seen("during").keys(), RECOVERS)
        traffic.mended = time.monotonic()
        recovered = traffic.wait(lambda: traffic.all_good_since(traffic.last_failure()), RECOVERS)
    kept, problems = audit.kept(traffic.outcomes, seconds=60)
    left = {request: seconds for request, seconds in stand.held().items() if request not in held}
    told = row(traffic, kept, len(left))
    print(told)  # shown where the test fails
    assert [f"{each.kind}: {each.told} {each.faults}" for each in traffic.outcomes if each.faults] == []
    assert problems == []
    assert set(traffic.seen("before")) == {"200"}
    assert fault.seen <= set(traffic.seen("during")) <= {"200"} | fault.seen | fault.allowed
    assert {each.told for each in traffic.outcomes if each.kind in fault.spared} <= {"200"}
    assert recovered, traffic.seen("after")
    assert all(seconds <= LEASE_SECONDS for seconds in left.values())
    if LONG:
        assert traffic.wait(lambda: not stand.held(), LEASE_SECONDS)
    for name, pool in stand.stack.pools.items():
        assert pool.pids, name
        assert all(runs(pid) for pid in pool.pids), name
    rows[fault.name] = told


def _seconds(fault: Fault, stand: Stand) -> float:
    """How long the fault lasts."""
    if fault.stops:
        return 1 + stand.stack.template.functions[EDGE].timeout
    return 8 if LONG else fault.seconds
