"""What all actions of a script share, and the two things that they aim at: Pods and nodes."""

from typing import Any

from pydantic import Field, model_validator

from app.api.base import KubeModel
from app.cli.durations import problem


class Action(KubeModel):
    """What happens at one moment. `short` is the field that a plain string or number stands for."""

    @classmethod
    def short(cls) -> str:
        """The field that a scalar in place of a map stands for, empty where there is none."""
        return ""

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        if value is None:
            return {}
        if isinstance(value, str | int | float) and not isinstance(value, bool) and cls.short():
            return {cls.short(): value}
        if not isinstance(value, dict):
            fields = ", ".join(field.alias or name for name, field in cls.model_fields.items())
            raise problem(f"must be a map of its fields: {fields}" if fields else "takes nothing: leave it empty")
        return value


class PodTarget(Action):
    """Which Pods. What is left out fits every Pod of the run's namespaces."""

    deployment: str | None = Field(default=None, description="ModelDeployment, as namespace/name or name.")
    role: str | None = Field(default=None, description="Role of the deployment.")
    replica: int | None = Field(default=None, ge=0, description="Ordinal of the replica.")
    member: int | None = Field(default=None, ge=0, description="Index of the Pod within its replica.")
    pod: str | None = Field(default=None, description="One Pod, as namespace/name or name.")
    labels: dict[str, str] = Field(default_factory=dict, description="Labels that the Pods have.")
    node: str | None = Field(default=None, description="Node that the Pods are on.")

    @property
    def words(self) -> str:
        """The target in words, for messages and the timeline."""
        stated = self.model_dump(by_alias=True, exclude_defaults=True, include=set(PodTarget.model_fields))
        return ", ".join(f"{field} {value}" for field, value in stated.items()) or "every Pod"


class NodeTarget(Action):
    """One node by name, or the one that a Pod is on."""

    node: str | None = Field(default=None, description="Name of the node; all means every node.")
    of: PodTarget | None = Field(default=None, description="The node of these Pods.")

    @classmethod
    def short(cls) -> str:
        """`killNode: node-a`."""
        return "node"

    @model_validator(mode="after")
    def _one(self) -> "NodeTarget":
        if (self.node is None) == (self.of is None):
            raise problem("must name a node or say of which Pod: node-a, or {of: {role: decode, replica: 0}}")
        return self
