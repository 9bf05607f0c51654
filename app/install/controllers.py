"""Metacontroller's controller objects (metacontroller.k8s.io/v1alpha1, from 4.17.2), made from the hook controllers."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.kube.hook import JSON, HookController

API_VERSION = "metacontroller.k8s.io/v1alpha1"

# A sync takes well under a second; what is slower than this is a service that restarts.
SYNC_TIMEOUT = "30s"
# Customize is called inside Metacontroller's event handlers and holds them up.
CUSTOMIZE_TIMEOUT = "3s"
RESYNC_SECONDS = 600
# With one of the two alone Metacontroller never starts the controller, with neither it keeps answers for ever.
ETAG = {"enabled": True, "cacheTimeoutSeconds": 3600, "cacheCleanupSeconds": 600}


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A key of a Secret."""

    name: str
    namespace: str
    key: str


def composite(controller: HookController, base_url: str, token: SecretKey | None = None) -> JSON:
    """The CompositeController of `controller`, whose hooks are `<base_url>/<name>/<hook>`.

    `token` is where Metacontroller finds the bearer token that it sends; without one it sends none.
    """
    spec: JSON = {
        "parentResource": {
            "apiVersion": controller.api_version,
            "resource": controller.resource,
            "ignoreStatusChanges": True,
        },
        "childResources": [
            {
                "apiVersion": child.api_version,
                "resource": child.resource,
                "updateStrategy": {"method": child.method},
            }
            for child in controller.children
        ],
        "generateSelector": True,
        "resyncPeriodSeconds": RESYNC_SECONDS,
        "hooks": {
            "sync": _hook(f"{base_url}/{controller.name}/sync", SYNC_TIMEOUT, etag=True),
            "finalize": _hook(f"{base_url}/{controller.name}/finalize", SYNC_TIMEOUT, etag=True),
            "customize": _hook(f"{base_url}/{controller.name}/customize", CUSTOMIZE_TIMEOUT, etag=False),
        },
    }
    if token is not None:
        reference = {"name": token.name, "namespace": token.namespace, "key": token.key}
        spec["endpointConfigs"] = [
            {"host": urlsplit(base_url).netloc, "authorization": {"type": "Bearer", "secretRef": reference}}
        ]
    return {
        "apiVersion": API_VERSION,
        "kind": "CompositeController",
        "metadata": {"name": controller.name},
        "spec": spec,
    }


def _hook(url: str, timeout: str, *, etag: bool) -> JSON:
    webhook: JSON = {"url": url, "timeout": timeout}
    if etag:
        webhook["etag"] = dict(ETAG)
    return {"version": "v2", "webhook": webhook}
