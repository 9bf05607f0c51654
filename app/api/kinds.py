"""The kinds: their names, what their schema is made from, and what `kubectl get` shows of them."""

from dataclasses import dataclass
from typing import Any, Literal

from app.api.base import KubeModel
from app.api.conditions import MODEL_DEPLOYMENT_CONDITIONS
from app.api.instancetype import InstanceTypeSpec
from app.api.modeldeployment import ModelDeploymentSpec
from app.api.status import ModelDeploymentStatus

JSON = dict[str, Any]

# Services are named after a deployment and its roles: a DNS-1035 label, short enough that no such name is cut.
_SERVICE_NAME: JSON = {"type": "string", "maxLength": 40, "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; a wide one is shown with `-o wide` alone."""

    name: str
    path: str
    type: Literal["string", "date"] = "string"
    wide: bool = False


AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind. `conditions` are those that an object has from its creation, before any sync."""

    kind: str
    description: str
    plural: str
    short: str
    namespaced: bool
    spec: type[KubeModel]
    status: type[KubeModel] | None
    columns: tuple[Column, ...]
    conditions: tuple[str, ...] = ()
    name: JSON | None = None


MODEL_DEPLOYMENT = Kind(
    kind="ModelDeployment",
    description="One model, its engine, and the roles that serve it.",
    plural="modeldeployments",
    short="mdep",
    namespaced=True,
    spec=ModelDeploymentSpec,
    status=ModelDeploymentStatus,
    columns=(
        Column("Engine", ".spec.engine.name"),
        Column("Roles", ".status.roleSummary"),
        Column("Phase", ".status.phase"),
        Column("Ready", ".status.ready"),
        Column("Endpoint", ".status.endpoint", wide=True),
        Column("Admission", ".status.admission.phase", wide=True),
        Column("Model", ".spec.model.name", wide=True),
        AGE,
    ),
    conditions=tuple(c.type for c in MODEL_DEPLOYMENT_CONDITIONS if not c.only_when_true),
    name=_SERVICE_NAME,
)

INSTANCE_TYPE = Kind(
    kind="InstanceType",
    description="A named shape of node that roles ask for.",
    plural="instancetypes",
    short="itype",
    namespaced=False,
    spec=InstanceTypeSpec,
    status=None,
    columns=(Column("Accelerator", ".spec.accelerator.product"), AGE),
)

KINDS = (MODEL_DEPLOYMENT, INSTANCE_TYPE)
