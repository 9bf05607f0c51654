"""ModelDeployment: one model, its engine, and the roles that serve it."""

from typing import Literal

from pydantic import ConfigDict, Field

from app.api.base import KubeModel, extras
from app.api.role import Role
from app.api.rules import owned_arguments, owned_environment, rule, unchanged

EngineName = Literal["vLLM", "SGLang"]
MAX_PODS = 1000
# What an image's tag may hold, so that no version is put into a template and refused by the registry.
VERSION = r"^[A-Za-z0-9_][-A-Za-z0-9_.]*$"

SAME_ROLES = rule(
    "self.size() == oldSelf.size() && self.all(r, oldSelf.exists(old, old.name == r.name))",
    "the set of roles is frozen: no role may be added, removed or renamed; make another ModelDeployment, "
    "or set replicas to 0",
)
_ROLE_SET_RULES = (
    SAME_ROLES,
    rule(
        "!self.exists(r, r.kind == 'Server') || self.all(r, r.kind == 'Server')",
        "a Server role answers requests whole, and so may not stand beside Prefill or Decode: use one or the other",
    ),
    rule(
        "self.filter(r, r.kind == 'Prefill').size() <= 1 && self.filter(r, r.kind == 'Decode').size() <= 1",
        "at most one Prefill and one Decode role: raise replicas of the one instead",
    ),
    rule(
        f"self.map(r, r.replicas * r.size).sum() <= {MAX_PODS}",
        f"more than {MAX_PODS} Pods (replicas times size, over all roles): lower replicas, or spread the load over "
        "several ModelDeployments",
    ),
)


class Model(KubeModel):
    """What is served. Frozen whole: another model is another deployment."""

    name: str = Field(min_length=1, max_length=253, description="Served name, and what the engine loads. Frozen.")


class Engine(KubeModel):
    """The program that serves the model."""

    name: EngineName = Field(
        description="vLLM or SGLang. Frozen.",
        json_schema_extra=extras(unchanged("engine.name", "make another ModelDeployment for another engine")),
    )
    version: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        pattern=VERSION,
        description="Engine version as an image's tag holds it, with or without a leading v; put into the image "
        "template. Required unless every role states an image. Editable; rolls every role without an image of its own.",
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


class Assembly(KubeModel):
    """What happens where only part of a deployment gets its quota."""

    timeout_seconds: int = Field(
        default=1800,
        ge=0,
        le=604800,
        description="Seconds after which a deployment that was never ready gives its quota back (it is parked), while "
        "some role kind has none. Defaults to 1800; 0 waits for ever. Editable.",
    )


class ModelDeploymentSpec(KubeModel):
    """What a model owner declares."""

    model_config = ConfigDict(
        json_schema_extra=extras(
            rule(
                "has(self.engine.version) || self.roles.all(r, has(r.image))",
                "engine.version is missing: state it, or state an image on every role",
                path=".engine",
            ),
            *owned_arguments(),
            *owned_environment(),
        )
    )

    enabled: bool = Field(
        default=True,
        description="Whether Hangar reconciles. False leaves everything as it is and keeps reporting. Editable.",
    )
    model: Model = Field(
        description="What is served. Frozen.",
        json_schema_extra=extras(unchanged("model", "make another ModelDeployment for another model")),
    )
    engine: Engine = Field(description="The program that serves it.")
    serving: Serving | None = Field(default=None, description="Typed settings of the engine. Editable.")
    rollout: Rollout = Field(default_factory=Rollout, description="How edits roll out. Editable.")
    assembly: Assembly = Field(default_factory=Assembly, description="How long quota may be held in part. Editable.")
    resumed_at: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="Any value; a new one makes what is parked ask for quota again (`hangar resume`). Editable.",
    )
    roles: list[Role] = Field(
        min_length=1,
        max_length=10,
        description="One to ten roles, either Servers or at most one Prefill and one Decode. Their set is frozen.",
        json_schema_extra=extras(*_ROLE_SET_RULES, map_keys=("name",)),
    )
