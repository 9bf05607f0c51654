"""Metacontroller's own kinds, with the parts of their schema that refuse or fill something."""

from app.kube.hook import JSON
from app.local.crds import admit_by
from app.local.resources import Resource

_ANYTHING: JSON = {"x-kubernetes-preserve-unknown-fields": True}
_METHODS = ["OnDelete", "Recreate", "InPlace", "RollingRecreate", "RollingInPlace"]


def _object(properties: JSON, *required: str) -> JSON:
    """An object that keeps what is not named here."""
    return _ANYTHING | {"type": "object", "properties": properties, "required": list(required)}


def _array(items: JSON) -> JSON:
    return {"type": "array", "items": items}


_TEXT: JSON = {"type": "string"}
_COUNT: JSON = {"type": "integer"}
_RULE: JSON = {"apiVersion": _TEXT, "resource": _TEXT}
_PARENT = _object({**_RULE, "ignoreStatusChanges": {"type": "boolean"}}, "apiVersion", "resource")
_STRATEGY = _object({"method": {"type": "string", "enum": _METHODS}})
_CHILD = _object({**_RULE, "updateStrategy": _STRATEGY}, "apiVersion", "resource")
_ETAG = _object({"enabled": {"type": "boolean"}, "cacheTimeoutSeconds": _COUNT, "cacheCleanupSeconds": _COUNT})
_WEBHOOK = _object(
    {
        "url": _TEXT,
        "path": _TEXT,
        "timeout": {"type": "string", "format": "duration"},
        "etag": _ETAG,
        "responseUnMarshallMode": {"type": "string", "enum": ["loose", "strict"]},
    }
)
_HOOK = _object({"version": {"type": "string", "enum": ["v1", "v2"], "default": "v1"}, "webhook": _WEBHOOK})
_COMMON: JSON = {
    "hooks": _object({"sync": _HOOK, "finalize": _HOOK, "customize": _HOOK}),
    "resyncPeriodSeconds": _COUNT,
    "endpointConfigs": _array(_object({"host": _TEXT}, "host")),
}
_COMPOSITE = _object(
    {"parentResource": _PARENT, "childResources": _array(_CHILD), "generateSelector": {"type": "boolean"}, **_COMMON},
    "parentResource",
)
_DECORATOR = _object({"resources": _array(_PARENT), "attachments": _array(_CHILD), **_COMMON}, "resources")


def _controllers(plural: str, kind: str, spec: JSON) -> Resource:
    return Resource(
        "metacontroller.k8s.io/v1alpha1",
        plural,
        kind,
        namespaced=False,
        status=True,
        counted=("",),
        admit=admit_by(_object({"spec": spec, "status": _ANYTHING}, "spec")),
        custom=True,
    )


COMPOSITE_CONTROLLER = _controllers("compositecontrollers", "CompositeController", _COMPOSITE)
DECORATOR_CONTROLLER = _controllers("decoratorcontrollers", "DecoratorController", _DECORATOR)
CONTROLLERS = (COMPOSITE_CONTROLLER, DECORATOR_CONTROLLER)
