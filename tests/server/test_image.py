"""The image's health check, read from the Dockerfile and run as Docker would: there is no engine to build with here."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from app.server.background import running
from app.server.operations import create_operations

DOCKERFILE = (Path(__file__).parent.parent.parent / "Dockerfile").read_text().replace("\\\n", "")


def instruction(name: str) -> str:
    """The last instruction of that name, on one line."""
    found: list[str] = re.findall(rf"^{name} (.*)$", DOCKERFILE, re.MULTILINE)
    return found[-1]


def checked(port: str) -> int:
    command: list[str] = json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])
    assert command[0] == "python"
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, *command[1:]],
        env=os.environ | {"HANGAR_OPERATIONS_PORT": port},
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


def test_a_container_that_answers_is_healthy_and_a_silent_one_is_not() -> None:
    with running(create_operations(lambda: "ready")) as url:
        port = url.rpartition(":")[2]
        assert checked(port) == 0
    assert checked(port) != 0


def test_the_image_runs_the_service_as_a_user_that_kubernetes_can_tell_from_root() -> None:
    assert json.loads(instruction("ENTRYPOINT")) + json.loads(instruction("CMD")) == ["hangar", "serve"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", instruction("USER"))
    assert "--require-hashes" in DOCKERFILE
