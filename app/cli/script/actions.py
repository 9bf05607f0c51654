"""What a script can do: one model per action. `docs/hangar-run.md` lists them."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from app.api.base import KubeModel
from app.cli.durations import Duration, SignedDuration, problem

Hook = Literal["sync", "finalize", "customize"]


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


class Apply(Action):
    """kubectl apply: a file beside the script, or objects written out."""

    file: str | None = Field(default=None, description="A manifest, relative to the script.")
    objects: list[dict[str, Any]] = Field(default_factory=list, description="Objects, written out.")

    @classmethod
    def short(cls) -> str:
        """`apply: bigger.yaml`."""
        return "file"

    @model_validator(mode="after")
    def _one(self) -> "Apply":
        if (self.file is None) == (not self.objects):
            raise problem("must name a file, or hold objects: [...]")
        return self


class Edit(Action):
    """kubectl edit: single fields of one object."""

    object: str = Field(description="Kind and name, as ModelDeployment team-a/qwen.")
    set: dict[str, Any] = Field(default_factory=dict, description="Values by path, as spec.roles[decode].image.")
    remove: list[str] = Field(default_factory=list, description="Paths of fields to remove.")

    @model_validator(mode="after")
    def _something(self) -> "Edit":
        if not self.set and not self.remove:
            raise problem("changes nothing: give set: {spec.engine.version: 0.12.1} or remove: [spec.serving]")
        return self


class Delete(Action):
    """kubectl delete."""

    object: str = Field(description="Kind and name, as ModelDeployment team-a/qwen.")
    propagation: Literal["Background"] = "Background"

    @classmethod
    def short(cls) -> str:
        """`delete: ModelDeployment team-a/qwen`."""
        return "object"


class Scale(Action):
    """The replicas of one role."""

    deployment: str | None = Field(default=None, description="ModelDeployment; may be left out where there is one.")
    role: str | None = Field(default=None, description="Role; may be left out where there is one.")
    replicas: int = Field(ge=0, le=1000)


class KillPod(PodTarget):
    """kubectl delete pod: by force and at once, or with a grace of so many seconds."""

    grace: Duration = 0


class EvictPod(PodTarget):
    """Takes Pods away as the eviction API, a kubelet short of a resource, or the scheduler for another Pod does."""

    by: Literal["API", "Kubelet", "Scheduler"] = "API"
    resource: str = Field(default="memory", description="What the node is short of, by: Kubelet.")


class Crash(PodTarget):
    """The engine's process ends, and its next starts end too, `times` in all."""

    container: str = ""
    exit_code: int = Field(default=1, ge=0, le=255)
    reason: str = "Error"
    times: int = Field(default=1, ge=1)
    after: Duration = 5


class Hang(PodTarget):
    """The engine's process answers nothing for a while, or until it is restarted."""

    container: str = ""
    for_: Duration | None = Field(default=None, alias="for")


class SlowLoad(PodTarget):
    """Engines that start from now on take so long to load."""

    container: str = ""
    load: Duration
    times: int | None = Field(default=None, ge=1, description="Starts of each container that are concerned.")
    for_: Duration | None = Field(default=None, alias="for")


class ImageMissing(Action):
    """Images that cannot be pulled from now on; * and ? are wildcards."""

    image: str = Field(min_length=1)
    for_: Duration | None = Field(default=None, alias="for")

    @classmethod
    def short(cls) -> str:
        """`imageMissing: vllm/vllm-openai:v9*`."""
        return "image"


class RefusePods(PodTarget):
    """Nodes refuse Pods that are bound to them, as a broken device plugin makes them."""

    reason: str = Field(default="UnexpectedAdmissionError", min_length=1)
    message: str = "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu"
    for_: Duration | None = Field(default=None, alias="for")


class KillNode(NodeTarget):
    """The machine loses its power."""


class RestoreNode(NodeTarget):
    """The machine boots again, and answers."""


class RemoveNode(NodeTarget):
    """The machine and its Node object are gone for good."""


class KillHook(Action):
    """The hook service stops: its calls are refused."""


class StartHook(Action):
    """The hook service serves again."""


class KillHookMidCall(Action):
    """The hook service stops while it works on its next call."""

    hook: Hook = "sync"

    @classmethod
    def short(cls) -> str:
        """`killHookMidCall: finalize`."""
        return "hook"


def _answer(value: Any) -> Any:
    if value in {"empty", "garbage"} or (isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600):
        return value
    raise problem("must be empty, garbage, or an HTTP status such as 503")


class HookFault(Action):
    """What comes back from the hook: something else, or later."""

    hook: Hook | None = Field(default=None, description="Which hook; every hook where it is left out.")
    answer: Annotated[int | str | None, BeforeValidator(_answer)] = None
    delay: Duration = 0
    times: int | None = Field(default=None, ge=1)
    for_: Duration | None = Field(default=None, alias="for")

    @classmethod
    def short(cls) -> str:
        """`hookFault: 503`."""
        return "answer"

    @model_validator(mode="after")
    def _something(self) -> "HookFault":
        if self.answer is None and not self.delay:
            raise problem("changes nothing: give answer: 503, answer: empty, answer: garbage, or delay: 20s")
        return self


class HookClock(Action):
    """The hook service's clock is wrong by so much from now on; 0s sets it right."""

    by: SignedDuration

    @classmethod
    def short(cls) -> str:
        """`hookClock: -1h`."""
        return "by"


ACTIONS: dict[str, type[Action]] = {
    "apply": Apply,
    "edit": Edit,
    "delete": Delete,
    "scale": Scale,
    "killPod": KillPod,
    "evictPod": EvictPod,
    "crash": Crash,
    "hang": Hang,
    "slowLoad": SlowLoad,
    "imageMissing": ImageMissing,
    "refusePods": RefusePods,
    "killNode": KillNode,
    "restoreNode": RestoreNode,
    "removeNode": RemoveNode,
    "killHook": KillHook,
    "startHook": StartHook,
    "killHookMidCall": KillHookMidCall,
    "hookFault": HookFault,
    "hookClock": HookClock,
}
