"""Settings: every variable is on the page, with its default, and a wrong value says what to write."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from app.server import metrics
from app.server.outcomes import Reason
from app.settings import ControllerSettings, ServerSettings, SettingsError, known_variables

PAGE = (Path(__file__).parent.parent / "docs" / "configuration.md").read_text()
ROWS = dict(re.findall(r"^\| `(HANGAR_\w+)` \| (?:`(.*?)`)? *\|", PAGE, re.MULTILINE))


class Watched(Mapping[str, str]):
    """An environment that remembers what was asked of it."""

    def __init__(self, **variables: str) -> None:
        self._variables = variables
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


def test_every_variable_that_is_read_is_documented_and_no_other() -> None:
    environment = Watched(HANGAR_TOKEN_FILE="/tokens")
    ControllerSettings.from_environment(environment)
    ServerSettings.from_environment(environment)
    assert environment.asked == known_variables() == ROWS.keys()


def test_the_documented_defaults_are_those_of_the_code() -> None:
    documented = {name: value for name, value in ROWS.items() if name != "HANGAR_TOKEN_FILE"}
    given = ServerSettings.from_environment({**documented, "HANGAR_TOKEN_FILE": "/tokens"})
    assert given == ServerSettings.from_environment({"HANGAR_TOKEN_FILE": "/tokens"})
    assert ControllerSettings.from_environment(documented) == ControllerSettings()
    assert all(
        documented[f"HANGAR_{field.name.upper()}"]
        for field in fields(ServerSettings)
        if not field.name.endswith("_file")
    )


def test_every_metric_and_refusal_is_on_the_page() -> None:
    names = re.findall(r"# TYPE (hangar_\w+)", metrics.rendered(None).decode())
    assert {name for name in names if f"`{name}`" not in PAGE} == set()
    assert {reason for reason in Reason if f"`{reason}`" not in PAGE} == set()


def test_a_service_called_hangar_in_the_namespace_does_not_keep_the_pod_from_starting() -> None:
    links = {"HANGAR_PORT": "tcp://10.0.0.1:80", "HANGAR_OPERATIONS_PORT": "tcp://10.0.0.2:81", "HANGAR_AUTH": "none"}
    settings = ServerSettings.from_environment(links)
    assert (settings.port, settings.operations_port) == (8080, 8081)


def test_a_service_without_a_token_says_both_ways_out() -> None:
    with pytest.raises(SettingsError, match="name a file with one bearer token per line, or set HANGAR_AUTH=none"):
        ServerSettings.from_environment({})


def test_a_request_that_has_begun_can_end_within_the_shutdown() -> None:
    given = {"HANGAR_AUTH": "none", "HANGAR_READ_SECONDS": "60"}
    assert ServerSettings.from_environment(given).read_seconds == ServerSettings().shutdown_seconds
    assert ServerSettings.from_environment(given | {"HANGAR_SHUTDOWN_SECONDS": "90"}).read_seconds == 60


def test_answering_anybody_is_asked_for_by_name() -> None:
    assert ServerSettings.from_environment({"HANGAR_AUTH": "none", "HANGAR_TOKEN_FILE": "/tokens"}).token_file == ""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("HANGAR_PORT", "http", "write a whole number from 0 to 65535"),
        ("HANGAR_PORT", "65536", "write a whole number from 0 to 65535"),
        ("HANGAR_WORKERS", "0", "write a whole number of at least 1"),
        ("HANGAR_MAX_BODY_BYTES", "64MiB", "write a whole number of at least 1"),
        ("HANGAR_DRAIN_SECONDS", "-1", "write a whole number of at least 0"),
        ("HANGAR_AUTH", "basic", "write one of token, none"),
        ("HANGAR_LOG_LEVEL", "INFO", "write one of debug, info, warning, error"),
    ],
)
def test_a_wrong_value_is_named_with_what_to_write(name: str, value: str, words: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is '{value}': {words}"):
        ServerSettings.from_environment({"HANGAR_TOKEN_FILE": "/tokens", name: value})


@pytest.mark.parametrize("name", ["HANGAR_ALLOW_PRIVILEGED", "HANGAR_ALLOW_HOST_PATH"])
def test_a_flag_that_is_neither_true_nor_false_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is 'perhaps': write true or false"):
        ControllerSettings.from_environment({name: "perhaps"})
