"""The kustomize base `metacontroller/`: which generated file holds what."""

from pathlib import PurePosixPath

from app.api.crd import crds
from app.controllers import CONTROLLERS
from app.install.controllers import composite
from app.install.documents import generated
from app.install.rbac import permissions
from app.install.service import BASE_URL, TOKEN, service_objects
from app.kube.hook import JSON

KUSTOMIZATION = "kustomization.yaml"
# Folders that hold generated files alone, beside those in the base itself.
FOLDERS = ("crds", "controllers")


def objects() -> dict[str, list[JSON]]:
    """The objects of each file, in the order in which they are applied: kinds before what is made of them."""
    return {
        **{f"crds/{definition['metadata']['name']}.yaml": [definition] for definition in crds()},
        "rbac.yaml": permissions(CONTROLLERS),
        "service.yaml": service_objects(),
        **{f"controllers/{c.name}.yaml": [composite(c, BASE_URL, TOKEN)] for c in CONTROLLERS},
    }


def files() -> dict[PurePosixPath, str]:
    """The text of every generated file, by its path in the base."""
    found = objects()
    kustomization: JSON = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(found),
    }
    return {
        PurePosixPath(path): generated(documents)
        for path, documents in (found | {KUSTOMIZATION: [kustomization]}).items()
    }
