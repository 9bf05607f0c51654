"""What is installed is what is answered for."""

from app.install.base import CONTROLLERS as INSTALLED
from app.server.controllers import CONTROLLERS


def test_every_installed_controller_has_its_hooks() -> None:
    assert CONTROLLERS == INSTALLED
