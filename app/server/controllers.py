"""Every controller that the hook service answers for."""

from app.kube.hook import HookController
from app.modeldeployment import CONTROLLER as MODEL_DEPLOYMENTS

CONTROLLERS: tuple[HookController, ...] = (MODEL_DEPLOYMENTS,)
