"""What clients of a counter send: short questions, agents' requests with tools, long ones, and images."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from bench.arrivals import Request
from bench.photos import photo, request
from bench.texts import Json, agent, body, short, slice_of

# Of a hundred requests; a model without vision is asked nothing with images.
SHARES = {"short": 50, "agent": 35, "long": 5, "images": 10}
# Some 8,000 and 110,000 tokens, tools and all; the second is within every served model's context.
AGENT, LONG = 18_000, 430_000
# Conversations with a model, of each length: an agent sends all of its own again with every turn.
CONVERSATIONS = 8
TURN = 500
IMAGES = 4


@dataclass(frozen=True, slots=True)
class Model:
    """A served model, and whether it sees."""

    id: str
    vision: bool


class Mix:
    """Requests of every kind to every model, as they come.

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
        known = conversation(LONG if kind == "long" else AGENT, self._dice.randrange(CONVERSATIONS), model)
        turn = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": slice_of(self._dice, TURN)}]
        return Request(kind, body(model, known | {"messages": known["messages"] + turn}))


@cache
def conversation(characters: int, number: int, model: str) -> Json:
    """One of the conversations with a model."""
    return agent(random.Random(f"{characters} {number} {model}"), characters)  # noqa: S311 - no secret
