"""What a script can do to Pods and engines: one model per action. `docs/hangar-run.md` lists them."""

from typing import Literal

from pydantic import Field

from app.cli.durations import Duration
from app.cli.script.base import Action, PodTarget


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
