"""The 60 seconds that a credential is remembered in a function."""

from collections import OrderedDict
from collections.abc import Callable

from tokencount.domain.credentials import Credential, Secret
from tokencount.domain.ports import Credentials

CACHE_SECONDS = 60.0
_CACHE_SIZE = 4096


class CachedCredentials:
    """Remembers what was found for at most 60 seconds, so that a revoked credential dies within a minute.

    Args:
        clock: seconds that also pass while the function is frozen, as those of the wall's clock do.
    """

    def __init__(self, store: Credentials, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._found: OrderedDict[str, tuple[float, Credential]] = OrderedDict()

    def find(self, secret: Secret) -> Credential | None:
        """As the store's own; only credentials that exist are remembered."""
        digest, now = secret.digest, self._clock()
        if (entry := self._found.get(digest)) and 0 <= now - entry[0] < CACHE_SECONDS:
            return entry[1]
        self._found.pop(digest, None)
        if credential := self._store.find(secret):
            self._found[digest] = (now, credential)
            if len(self._found) > _CACHE_SIZE:
                self._found.popitem(last=False)
        return credential

    def forget(self, credential_id: str) -> None:
        """Asks the store again for that credential: it was revoked here."""
        self._found = OrderedDict(item for item in self._found.items() if item[1][1].id != credential_id)
