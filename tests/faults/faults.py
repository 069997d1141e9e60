"""Every fault, and what clients may see of it."""

import resource
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tests.faults import breaks
from tests.faults.breaks import Breaks
from tests.faults.stand import COUNTER, EDGE

NODE = "503 `node_unavailable`"
FULL = "429 `concurrency_limited`"
# The gateway's own, to a function that failed.
INTERNAL = "500 `internal`"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault.

    Args:
        seen: what clients see beside what they always see, for certain.
        allowed: what they may see as well.
        spared: kinds of requests that it does not touch.
        stops: a function stands still; the fault lasts until every function would have run out of its time.
        seconds: how long it lasts otherwise, in the short form, if all of `seen` was seen by then.
    """

    name: str
    breaks: Breaks
    seen: AbstractSet[str] = frozenset()
    allowed: AbstractSet[str] = frozenset()
    spared: AbstractSet[str] = frozenset()
    stops: bool = False
    seconds: float = 0.7


OTHERS = frozenset({"other model", "list", "record", "models"})
FAULTS = (
    Fault("DynamoDB refuses connections", breaks.refuses("DYNAMODB"), seen={NODE}),
    Fault("DynamoDB answers after 0.4 s", breaks.slow("DYNAMODB", 0.2), seconds=1.5),
    Fault("DynamoDB hangs", breaks.hangs("DYNAMODB"), allowed={NODE}, seconds=4),
    Fault("the record queue refuses connections", breaks.refuses("SQS")),
    Fault(
        "DynamoDB and the record queue refuse connections",
        breaks.together(breaks.refuses("DYNAMODB"), breaks.refuses("SQS")),
        seen={NODE},
    ),
    Fault(
        "DynamoDB and the record queue hang",
        breaks.together(breaks.hangs("DYNAMODB"), breaks.hangs("SQS")),
        allowed={NODE},
        seconds=4,
    ),
    Fault("counters cannot be invoked", breaks.refuses("LAMBDA"), seen={NODE}),
    Fault("the counter's workers are killed", breaks.killed(COUNTER), seen={NODE}, spared=OTHERS),
    Fault("the counter's workers are frozen", breaks.frozen(COUNTER), seen={NODE}, spared=OTHERS, stops=True),
    Fault("the counter is over its time", breaks.starved(COUNTER), seen={NODE}, spared=OTHERS, stops=True),
    Fault(
        "the counter's workers are frozen and DynamoDB hangs",
        breaks.together(breaks.frozen(COUNTER), breaks.hangs("DYNAMODB")),
        seen={NODE},
        stops=True,
    ),
    Fault(
        "the counter's workers are out of memory",
        breaks.limited(COUNTER, resource.RLIMIT_AS),
        allowed={NODE, INTERNAL},
        spared=OTHERS,
    ),
    Fault("the edge's workers are killed", breaks.killed(EDGE), seen={INTERNAL}, allowed={FULL}),
    Fault(
        "the edge's workers start while the keys of node tokens cannot be read",
        breaks.together(breaks.refuses("SECRETS_MANAGER"), breaks.killed(EDGE)),
        seen={INTERNAL},
        allowed={FULL},
    ),
    Fault("the edge's workers are frozen", breaks.frozen(EDGE), seen={INTERNAL}, allowed={FULL}, stops=True),
    Fault("the endpoint is throttled", breaks.endpoint("throttled")),
    Fault("the endpoint is not there", breaks.endpoint("absent")),
    Fault("the endpoint's container crashes", breaks.endpoint("crashing")),
    Fault("the endpoint's container is frozen", breaks.endpoint_hangs),
    Fault("the keys of node tokens are changed while their secret cannot be read", breaks.rotation),
    Fault("the clocks of edges are ten seconds apart", breaks.skew),
    Fault("a file of the model's layer is missing", breaks.layer(breaks.missing), seen={NODE}, spared=OTHERS),
    Fault("a file of the model's layer is cut off", breaks.layer(breaks.cut_off), seen={NODE}, spared=OTHERS),
    Fault("the edge's log cannot be written", breaks.limited(EDGE, resource.RLIMIT_FSIZE)),
    Fault("the counter's log cannot be written", breaks.limited(COUNTER, resource.RLIMIT_FSIZE)),
)
