"""`hangar serve`: its options win over variables, and reach the service under the same names."""

import pytest

from app.cli import serve as command
from app.cli.main import exit_code
from app.server.background import NotServing


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The environments with which the service was asked to start."""
    found: list[dict[str, str]] = []

    def serve_hooks(environment: dict[str, str]) -> int:
        found.append({name: value for name, value in environment.items() if name.startswith("HANGAR_")})
        return 0

    monkeypatch.setattr(command, "serve_hooks", serve_hooks)
    return found


def test_options_win_over_variables(asked: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANGAR_PORT", "1")
    monkeypatch.setenv("HANGAR_WORKERS", "3")
    options = ["--host", "::1", "--port", "9000", "--operations-port", "9001", "--no-auth"]
    assert exit_code(["serve", *options]) == 0
    assert asked == [
        {
            "HANGAR_HOST": "::1",
            "HANGAR_PORT": "9000",
            "HANGAR_OPERATIONS_PORT": "9001",
            "HANGAR_WORKERS": "3",
            "HANGAR_AUTH": "none",
        }
    ]


def test_workers_are_an_option_too(asked: list[dict[str, str]]) -> None:
    exit_code(["serve", "--workers", "2"])
    assert asked == [{"HANGAR_WORKERS": "2"}]


def test_a_service_that_cannot_start_its_workers_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "serve_hooks", lambda _environment: 1)
    assert exit_code(["serve"]) == 1


def test_a_port_in_use_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def taken(_environment: object) -> int:
        raise NotServing("cannot listen on 127.0.0.1 port 80: Permission denied")

    monkeypatch.setattr(command, "serve_hooks", taken)
    assert exit_code(["serve"]) == 2
    assert capsys.readouterr().err == "hangar: cannot listen on 127.0.0.1 port 80: Permission denied\n"


def test_an_interrupt_is_no_mistake(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_environment: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "serve_hooks", interrupted)
    assert exit_code(["serve"]) == 130
    assert capsys.readouterr().err == ""
