"""Valid Messages requests of every kind, drawn from a seed: the same seed is the same request on every machine."""

import string
from random import Random
from typing import Any

from tests.support.requests import Json, assistant, image, picture, text, user

_WORDS = (
    "the of token count weather Paris naïve don't I'LL it's we've e.g. 3.14159 1e-9 0x7f 1,234,567 №5 ½ ² Ⅷ "
    "def f(x): return {'a': [1, 22]} <div class=\"x\">&amp;</div> https://a.example/?q=1&r=%20#z C:\\temp\\n "
    "你好，世界 今天天气 こんにちは カタカナ 안녕하세요 세계 สวัสดี नमस्ते مرحبا ١٢٣ שלום Привет ελληνικά ქართული "
    "e\u0301 n\u0303 o\u0302\u0323 \u1100\u1161\u11a8 ﷺ ﬁ ａｂｃ 𝔘𝔫𝔦 👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 🇫🇷 "
    "\u200b \ufeff \u00ad \u202e"
)
# Markers of all served models, and words that mean something to a template.
_MARKERS = (
    "<|im_start|> <|im_end|> <|endoftext|> <think> </think> <tool_call> </tool_call> <|vision_start|> <|image_pad|> "
    "<bos> <eos> <start_of_turn> <end_of_turn> <start_of_image> <image_soft_token> <unused0> <pad> "
    "<|begin_of_text|> <|eot_id|> <|eom_id|> <|python_tag|> <|start_header_id|> <|reserved_special_token_0|> "
    "<|start|> <|end|> <|message|> <|channel|> <|return|> <|call|> <|constrain|> <|startoftext|> "
    "{{ messages }} {% if x %} CONTINUE_FINAL_MESSAGE_TAG <|im_en"
)
WORDS, MARKERS = _WORDS.split(" "), _MARKERS.split(" ")
GAPS = (" ", " ", " ", "  ", "\n", "\n\n", "\t", "\r\n", "", ", ", " \n ", "   ", "\u3000", "\x00", "\u2028")
NAMES = ("search", "get_weather", "noop", "run-code", "f")
THINKING = ({"type": "enabled", "budget_tokens": 2048}, {"type": "adaptive"}, {"type": "disabled"}, None)


class Requests:
    """Requests for one model.

    Args:
        placeholder: what its template writes for an image, which no text may hold beside one; None without vision.
    """

    def __init__(self, seed: str, model: str, placeholder: str | None) -> None:
        self._random = Random(seed)
        self._model = model
        self._placeholder = placeholder

    def draw(self) -> Json:
        """The next request."""
        self._images = self._placeholder is not None and self._random.random() < 0.15
        body: Json = {"model": self._model, "messages": self._messages()}
        if self._often(0.5):
            body["system"] = self._text() if self._often(0.6) else self._texts()
        if self._often(0.4):
            body["tools"] = [self._tool(name) for name in self._random.sample(NAMES, self._random.randint(1, 4))]
        if self._often(0.4):
            body["thinking"] = self._random.choice(THINKING)
        return body

    def _often(self, share: float) -> bool:
        return self._random.random() < share

    def _text(self) -> str:
        if self._often(0.03):
            return self._random.choice(["", " ", "a" * 300, " " * 300, "\n" * 50, "=-" * 100, "字" * 200, "🙂" * 60])
        pieces = []
        for _ in range(self._random.choice([1, 2, 3, 5, 8, 20, 60])):
            kind = self._random.random()
            if kind < 0.75:
                pieces.append(self._random.choice(WORDS))
            elif kind < 0.9:
                pieces.append(self._marker())
            elif kind < 0.97:
                pieces.append("".join(self._random.choices(string.printable, k=self._random.randint(1, 12))))
            else:
                pieces.append("".join(chr(self._random.choice(self._plane())) for _ in range(4)))
            pieces.append(self._random.choice(GAPS))
        return "".join(pieces)

    def _plane(self) -> range:
        return self._random.choice(
            [range(0xA0, 0x600), range(0x900, 0x1200), range(0x2000, 0xD7FF), range(0x10000, 0x1F9FF)]
        )

    def _marker(self) -> str:
        marker = self._random.choice(MARKERS)
        return "marker" if self._images and marker == self._placeholder else marker

    def _texts(self, most: int = 3) -> list[Json]:
        return [text(self._text()) for _ in range(self._random.randint(1, most))]

    def _messages(self) -> list[Json]:
        messages: list[Json] = []
        for _ in range(self._random.choice([1, 1, 1, 2, 3, 5])):
            if messages:
                messages += self._turn()
            messages.append(self._user())
        if self._often(0.15):
            messages.append(assistant(self._text()) if self._often(0.5) else assistant(*self._texts()))
        return messages

    def _turn(self) -> list[Json]:
        """An answer, and sometimes calls of tools with their results."""
        blocks: list[Json] = []
        if self._often(0.3):
            blocks.append({"type": "thinking", "thinking": self._text(), "signature": "s"})
        if self._often(0.1):
            blocks.append({"type": "redacted_thinking", "data": "b3BhcXVl"})
        if self._often(0.7):
            blocks += self._texts()
        if self._often(0.6):
            return [assistant(*blocks)]
        calls = [f"toolu_{number}" for number in range(self._random.randint(1, 2))]
        for call in calls:
            blocks.append({"type": "tool_use", "id": call, "name": self._random.choice(NAMES), "input": self._object()})
        return [assistant(*blocks), user(*(self._result(call) for call in calls))]

    def _result(self, call: str) -> Json:
        content = self._random.choice([self._text(), self._texts(2), None, self._parts()])
        result: Json = {"type": "tool_result", "tool_use_id": call, "content": content}
        return result | ({"is_error": True} if self._often(0.2) else {})

    def _user(self) -> Json:
        return user(self._text()) if self._often(0.5) else user(*self._parts())

    def _parts(self) -> list[Json]:
        parts = self._texts()
        if self._images and self._often(0.5):
            size = (self._random.choice([1, 20, 300, 640]), self._random.choice([1, 33, 256, 900]))
            if max(size) <= 200 * min(size):
                parts.insert(self._random.randint(0, len(parts)), image(picture(*size)))
        return parts

    def _tool(self, name: str) -> Json:
        properties = {self._random.choice("abcxyz"): self._schema() for _ in range(self._random.randint(0, 3))}
        schema: Json = {"type": "object", "properties": properties}
        if properties and self._often(0.5):
            schema["required"] = [next(iter(properties))]
        described = {"description": self._text()} if self._often(0.7) else {}
        return {"name": name, **described, "input_schema": schema}

    def _schema(self) -> Json:
        kind = self._random.choice(["string", "integer", "number", "boolean", "array", "object"])
        more: Json = {"description": self._text()} if self._often(0.5) else {}
        if kind == "string" and self._often(0.3):
            more["enum"] = ["one", "deux", "三"]
        if kind == "array":
            more["items"] = {"type": "string"}
        return {"type": kind, **more}

    def _object(self) -> Json:
        return {self._random.choice("abcdef"): self._value(2) for _ in range(self._random.randint(0, 3))}

    def _value(self, depth: int) -> Any:
        values: list[Any] = [self._text(), 0, -3, 2.5, 10**20, True, None]
        if depth:
            values += [[self._value(depth - 1), 1], {"k": self._value(depth - 1)}]
        return self._random.choice(values)
