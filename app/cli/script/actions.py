"""What a script can do: to objects, nodes and the hook one model per action here, and the table of all of them."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from app.cli.durations import Duration, SignedDuration, problem
from app.cli.script.base import Action, NodeTarget
from app.cli.script.podactions import Crash, EvictPod, Hang, ImageMissing, KillPod, RefusePods, SlowLoad

Hook = Literal["sync", "finalize", "customize"]


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
    propagation: Literal["Background", "Foreground", "Orphan"] = "Background"

    @classmethod
    def short(cls) -> str:
        """`delete: ModelDeployment team-a/qwen`."""
        return "object"


class Scale(Action):
    """The replicas of one role."""

    deployment: str | None = Field(default=None, description="ModelDeployment; may be left out where there is one.")
    role: str | None = Field(default=None, description="Role; may be left out where there is one.")
    replicas: int = Field(ge=0, le=1000)


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
