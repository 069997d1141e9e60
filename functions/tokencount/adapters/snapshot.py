"""What a SnapStart snapshot must not keep, by the hooks of Lambda's runtime.

There is little of it: caches and keys go by the wall's clock, and ids and secrets are drawn from the system each time.
"""

import os
import random
import ssl
from collections.abc import Callable

try:
    from snapshot_restore_py import register_after_restore, register_before_snapshot
except ImportError:
    # Not Lambda's Python: nothing is ever restored.
    def register_after_restore(func: Callable[[], object]) -> Callable[[], object]:
        """Does nothing."""
        return func

    register_before_snapshot = register_after_restore


def before_snapshot(hook: Callable[[], object]) -> None:
    """Has `hook` called before a snapshot is taken."""
    register_before_snapshot(hook)


def after_restore(hook: Callable[[], object]) -> None:
    """Has `hook` called in each environment that is restored, before its first event."""
    register_after_restore(hook)


def renew_randomness() -> None:
    """Parts what environments of the same snapshot would draw alike: the jitter of retries, and TLS's own numbers."""
    random.seed()
    ssl.RAND_add(os.urandom(32), 32.0)
