"""The main controller: a ModelDeployment becomes engine Pods, Services and an honest status."""

from app.modeldeployment.controller import CONTROLLER

__all__ = ["CONTROLLER"]
