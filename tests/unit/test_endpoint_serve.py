"""What the endpoint's container is started with."""

from pathlib import Path

import pytest

from endpoint.serve import main
from tokencount.adapters.settings import BadSetting, EndpointSettings


def test_the_port_is_8080_on_every_address_unless_told_otherwise() -> None:
    assert EndpointSettings.from_env({"MODEL_DIR": "/m"}) == EndpointSettings(Path("/m"), "0.0.0.0", 8080)
    told = {"MODEL_DIR": "/m", "BIND_HOST": "127.0.0.1", "SAGEMAKER_BIND_TO_PORT": "9000"}
    assert EndpointSettings.from_env(told) == EndpointSettings(Path("/m"), "127.0.0.1", 9000)


@pytest.mark.parametrize("env", [{}, {"MODEL_DIR": "/m", "SAGEMAKER_BIND_TO_PORT": "http"}])
def test_a_variable_that_is_missing_or_wrong_is_named(env: dict[str, str]) -> None:
    with pytest.raises(BadSetting, match="SAGEMAKER_BIND_TO_PORT" if env else "MODEL_DIR"):
        EndpointSettings.from_env(env)


@pytest.mark.parametrize(("arguments", "said"), [([], "usage"), (["train"], "usage"), (["serve"], "MODEL_DIR")])
def test_it_says_what_it_needs_and_ends(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments, {}) == 2
    assert said in capsys.readouterr().err
