"""Finds the route of an API Gateway event, whatever stage, base path or custom domain stands in front of it."""

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import unquote

from tokencount.domain.errors import MethodNotAllowed, NotFound, quote
from tokencount.domain.ids import is_id

T = TypeVar("T")


class Routes(Generic[T]):
    """A table of routes.

    Args:
        table: by method and path; in a path `{name}` is one segment and `{name+}` the rest, as in API Gateway.
    """

    def __init__(self, table: Mapping[tuple[str, str], T]) -> None:
        self._routes = [(method, path, _pattern(path), target) for (method, path), target in table.items()]

    def find(self, method: str, path: str) -> tuple[T, dict[str, str], str]:
        """The route's target, its path parameters, decoded, and as much of the path as a record may keep.

        Raises:
            NotFound: no route has this path.
            MethodNotAllowed: one has, with another method.
        """
        allowed = []
        for route_method, route_path, pattern, target in self._routes:
            if not (match := pattern.fullmatch(path)):
                continue
            if route_method == method:
                parameters = {name: unquote(value) for name, value in match.groupdict().items()}
                return target, parameters, _kept(route_path, parameters)
            allowed.append(route_method)
        if allowed:
            message = f"{quote(method)} is not allowed here; allowed: {', '.join(allowed)}"
            raise MethodNotAllowed(message, allowed)
        raise NotFound(f"There is nothing at {quote(path)}")


def path_of(event: Mapping[str, Any]) -> str:
    """The path that the client asked for below the API's root.

    `resource` and its parameters give it without the stage and base path that `path` may start with.
    """
    resource, parameters = event.get("resource") or "", event.get("pathParameters") or {}
    path = re.sub(r"\{(\w+)\+?\}", lambda match: str(parameters.get(match[1], "")), resource)
    if path:
        return path
    stage = (event.get("requestContext") or {}).get("stage")
    return str(event.get("path") or "/").removeprefix(f"/{stage}" if stage else "") or "/"


def _kept(path: str, parameters: Mapping[str, str]) -> str:
    """The route's path with ids filled in, and only ids: what else a client puts there may be a credential."""

    def fill(match: re.Match[str]) -> str:
        value = parameters[match[1]]
        return value if is_id(value) else f"{{{match[1]}}}"

    return re.sub(r"\{(\w+)\+?\}", fill, path)


def _pattern(path: str) -> re.Pattern[str]:
    pieces = re.split(r"(\{\w+\+?\})", path)
    return re.compile("".join(_piece(piece) for piece in pieces))


def _piece(piece: str) -> str:
    if not piece.startswith("{"):
        return re.escape(piece)
    name = piece.strip("{+}")
    return f"(?P<{name}>.+)" if piece.endswith("+}") else f"(?P<{name}>[^/]+)"
