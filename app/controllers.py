"""Every controller of Hangar: what the service answers for is what is installed."""

from app.kube.hook import HookController
from app.modeldeployment import CONTROLLER as MODEL_DEPLOYMENTS

CONTROLLERS: tuple[HookController, ...] = (MODEL_DEPLOYMENTS,)
