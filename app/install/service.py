"""The hook service on a cluster: its namespace, account, Deployment, Service and disruption budget."""

from app import __version__
from app.install.controllers import SecretKey
from app.kube.hook import JSON
from app.settings import PREFIX, ServerSettings

NAME = "hangar"
NAMESPACE = "hangar-system"
TOKEN = SecretKey("hangar-token", NAMESPACE, "token")
# Any HANGAR_… variable may stand in this ConfigMap; none has to.
SETTINGS = "hangar-settings"

_DEFAULTS = ServerSettings()
BASE_URL = f"http://{NAME}.{NAMESPACE}.svc:{_DEFAULTS.port}"

REPLICAS = 2
_USER = 65532
_TOKEN_FOLDER = "/etc/hangar/token"  # noqa: S105 - a path
_SELECTOR = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "hooks"}
_LABELS = {**_SELECTOR, "app.kubernetes.io/part-of": NAME}


def service_objects() -> list[JSON]:
    """Everything of the service, in the order in which it is applied."""
    return [_namespace(), _account(), _service(), _deployment(), _budget()]


def _metadata(name: str) -> JSON:
    return {"name": name, "namespace": NAMESPACE, "labels": dict(_LABELS)}


def _namespace() -> JSON:
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": levels}}


def _account() -> JSON:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(NAME),
        # The service never calls Kubernetes: it answers, Metacontroller writes.
        "automountServiceAccountToken": False,
    }


def _service() -> JSON:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(NAME),
        "spec": {
            "selector": dict(_SELECTOR),
            "ports": [{"name": "hooks", "port": _DEFAULTS.port, "targetPort": "hooks", "protocol": "TCP"}],
        },
    }


def _deployment() -> JSON:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(NAME),
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": dict(_SELECTOR)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": dict(_LABELS)}, "spec": _pod()},
        },
    }


def _pod() -> JSON:
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": dict(_SELECTOR)},
            }
        ],
        # On SIGTERM the service itself goes on serving while endpoints disappear, then finishes what it has begun.
        "terminationGracePeriodSeconds": _DEFAULTS.drain_seconds + _DEFAULTS.shutdown_seconds + 10,
        "containers": [_container()],
        "volumes": [
            {"name": "token", "secret": {"secretName": TOKEN.name}},
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
        ],
    }


def _container() -> JSON:
    return {
        "name": NAME,
        "image": f"{NAME}:{__version__}",
        "command": ["hangar", "serve"],
        "env": [{"name": f"{PREFIX}TOKEN_FILE", "value": f"{_TOKEN_FOLDER}/{TOKEN.key}"}],
        "envFrom": [{"configMapRef": {"name": SETTINGS, "optional": True}}],
        "ports": [
            {"name": "hooks", "containerPort": _DEFAULTS.port, "protocol": "TCP"},
            {"name": "operations", "containerPort": _DEFAULTS.operations_port, "protocol": "TCP"},
        ],
        "readinessProbe": _probe("/readyz", period=5, failures=2),
        "livenessProbe": _probe("/healthz", period=10, failures=6),
        # A request of 1,000 observed Pods is 15 MB and several times that while it is parsed.
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "token", "mountPath": _TOKEN_FOLDER, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the container's own
        ],
    }


def _probe(path: str, period: int, failures: int) -> JSON:
    return {
        "httpGet": {"path": path, "port": "operations"},
        "periodSeconds": period,
        "timeoutSeconds": 3,
        "failureThreshold": failures,
    }


def _budget() -> JSON:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(NAME),
        "spec": {"minAvailable": 1, "selector": {"matchLabels": dict(_SELECTOR)}},
    }
