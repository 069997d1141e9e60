"""What clients of a counter send: short questions, agents' requests with tools, long ones, and images."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.arrivals import Request
from bench.photos import photo, request
from bench.texts import agent, body, short

# Of a hundred requests; a model without vision is asked nothing with images.
SHARES = {"short": 50, "agent": 35, "long": 5, "images": 10}
# Some 8,000 and 110,000 tokens, tools and all; the second is within every served model's context.
AGENT, LONG = 18_000, 430_000
IMAGES = 4


@dataclass(frozen=True, slots=True)
class Model:
    """A served model, and whether it sees."""

    id: str
    vision: bool


class Mix:
    """Requests of every kind to every model, each of new text.

    Args:
        shares: weights of the kinds.
    """

    def __init__(self, models: Sequence[Model], dice: random.Random, shares: Mapping[str, int] = SHARES) -> None:
        self._models = models
        self._seeing = [model for model in models if model.vision]
        self._shares = {kind: share for kind, share in shares.items() if kind != "images" or self._seeing}
        self._photos = [photo(seed) for seed in range(2 * IMAGES)]
        self._dice = dice

    def __iter__(self) -> Iterator[Request]:
        while True:
            [kind] = self._dice.choices(list(self._shares), list(self._shares.values()))
            yield self.one(kind)

    def one(self, kind: str) -> Request:
        """A request of that kind, to any model that takes it."""
        model = self._dice.choice(self._seeing if kind == "images" else self._models).id
        match kind:
            case "images":
                return Request(kind, request(model, self._dice.sample(self._photos, IMAGES)))
            case "short":
                return Request(kind, body(model, short(self._dice)))
        return Request(kind, body(model, agent(self._dice, LONG if kind == "long" else AGENT)))
