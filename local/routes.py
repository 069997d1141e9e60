"""Finds the route of a path as API Gateway does: an exact segment before `{name}`, and that before `{name+}`."""

import re
from collections.abc import Iterable

from local.template import Route

SEGMENT = re.compile(r"\{(?P<name>\w+)(?P<greedy>\+?)\}")


class Router:
    """The routes of one API, the most specific first."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [(_pattern(route.path), route) for route in sorted(routes, key=_rank)]

    def match(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        """The route and its path parameters, both as they were sent; a slash at the end does not count."""
        for pattern, route in self._routes:
            if route.method in (method, "ANY") and (found := pattern.fullmatch(path.rstrip("/") or "/")):
                return route, found.groupdict()
        return None


def _rank(route: Route) -> tuple[list[int], bool]:
    segments = [SEGMENT.fullmatch(segment) for segment in route.path.split("/")]
    return [0 if found is None else 2 if found["greedy"] else 1 for found in segments], route.method == "ANY"


def _pattern(path: str) -> re.Pattern[str]:
    segments = []
    for segment in path.split("/"):
        found = SEGMENT.fullmatch(segment)
        segments.append(f"(?P<{found['name']}>{'.+' if found['greedy'] else '[^/]+'})" if found else re.escape(segment))
    return re.compile("/".join(segments))
