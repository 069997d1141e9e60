"""Credentials, remembered in a function."""

from collections.abc import Callable

from tokencount.adapters.minute_cache import MinuteCache
from tokencount.domain.credentials import Credential, Secret
from tokencount.domain.ports import Credentials


class CachedCredentials:
    """Remembers what was found for at most 60 seconds, so that a revoked credential dies within a minute.

    Args:
        clock: seconds that also pass while the function is frozen, as those of the wall's clock do.
    """

    def __init__(self, store: Credentials, clock: Callable[[], float]) -> None:
        self._store = store
        self._found = MinuteCache[Credential | None](clock)

    def find(self, secret: Secret) -> Credential | None:
        """As the store's own; only credentials that exist are remembered."""
        return self._found.get(secret.digest, lambda: self._store.find(secret))

    def forget(self, credential_id: str) -> None:
        """Asks the store again for that credential: it was revoked here."""
        self._found.forget(lambda known: known is not None and known.id == credential_id)
