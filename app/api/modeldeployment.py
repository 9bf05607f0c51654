"""ModelDeployment: one model, its engine, and the roles that serve it."""

from typing import Literal

from pydantic import Field

from app.api.base import KubeModel, listed
from app.api.role import Role

EngineName = Literal["vLLM", "SGLang"]


class Model(KubeModel):
    """What is served. Frozen whole: another model is another deployment."""

    name: str = Field(min_length=1, max_length=253, description="Served name, and what the engine loads. Frozen.")


class Engine(KubeModel):
    """The program that serves the model."""

    name: EngineName = Field(description="vLLM or SGLang. Frozen.")
    version: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="Engine version, put into the image template. Required unless every role states an image. Editable; "
        "rolls every role without an image of its own.",
    )


class Serving(KubeModel):
    """Typed settings of the engine; each is stated here or as a flag, not both."""

    context_length: int | None = Field(default=None, ge=1, description="Longest context in tokens. Editable.")
    quantization: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="Weight quantization, for example fp8. Editable.",
    )
    kv_cache_dtype: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="Type of the KV cache, for example auto. Editable.",
    )


class Rollout(KubeModel):
    """How an edit replaces running replicas: one per role per pass."""

    gate: Literal["Ready", "Admitted"] = Field(
        default="Ready",
        description="Ready (default): the next turnover waits until the others serve. Admitted: only until they "
        "hold their quota, or exist where there is no queue. Editable.",
    )


class ModelDeploymentSpec(KubeModel):
    """What a model owner declares."""

    enabled: bool = Field(
        default=True,
        description="Whether Hangar reconciles. False leaves everything as it is and keeps reporting. Editable.",
    )
    model: Model = Field(description="What is served. Frozen.")
    engine: Engine = Field(description="The program that serves it.")
    serving: Serving | None = Field(default=None, description="Typed settings of the engine. Editable.")
    rollout: Rollout = Field(default_factory=Rollout, description="How edits roll out. Editable.")
    roles: list[Role] = listed(description="One to ten roles; their set is frozen.", maximum=10, keys=("name",))
