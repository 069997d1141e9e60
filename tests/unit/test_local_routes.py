"""Routes are found as API Gateway finds them."""

import pytest

from local.routes import Router
from local.template import Route

ROUTES = [
    Route(path, method, f"{method} {path}")
    for path, method in (
        ("/{proxy+}", "ANY"),
        ("/", "ANY"),
        ("/models/{id+}", "GET"),
        ("/models", "GET"),
        ("/models/{id}", "GET"),
        ("/models/special", "GET"),
        ("/models/special", "ANY"),
        ("/a.b/{one}/c/{two}", "POST"),
    )
]


@pytest.mark.parametrize(
    ("method", "path", "route", "parameters"),
    [
        ("GET", "/", "ANY /", {}),
        ("GET", "/models", "GET /models", {}),
        ("GET", "/models/", "GET /models", {}),
        ("GET", "/models/special", "GET /models/special", {}),
        ("PUT", "/models/special", "ANY /models/special", {}),
        ("GET", "/models/x%2Fy", "GET /models/{id}", {"id": "x%2Fy"}),
        ("GET", "/models/x/y", "GET /models/{id+}", {"id": "x/y"}),
        ("PUT", "/models/x", "ANY /{proxy+}", {"proxy": "models/x"}),
        ("POST", "/a.b/1/c/2", "POST /a.b/{one}/c/{two}", {"one": "1", "two": "2"}),
        ("POST", "/aXb/1/c/2", "ANY /{proxy+}", {"proxy": "aXb/1/c/2"}),
        ("GET", "//x", "ANY /{proxy+}", {"proxy": "/x"}),
    ],
)
def test_an_exact_segment_comes_before_a_parameter_and_that_before_a_greedy_one(
    method: str, path: str, route: str, parameters: dict[str, str]
) -> None:
    match = Router(ROUTES).match(method, path)
    assert match is not None
    assert (match[0].function, match[1]) == (route, parameters)


def test_a_path_without_a_route_has_none() -> None:
    assert Router(ROUTES[2:]).match("GET", "/other") is None
