"""Settings that are stated as fields of the spec, and that the engine takes as flags."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.api.modeldeployment import ModelDeploymentSpec
from app.api.role import Role
from app.modeldeployment.engines import Key


@dataclass(frozen=True, slots=True)
class Typed:
    """One setting: the path of its field, for messages, and its value."""

    field: str
    value: int | str


def typed_settings(spec: ModelDeploymentSpec, role: Role) -> Mapping[Key, Typed]:
    """What the spec and the role state, in the order in which it is rendered."""
    found: dict[Key, Typed] = {}

    def state(key: Key, field: str, value: int | str | None) -> None:
        if value is not None:
            found[key] = Typed(field, value)

    serving, degrees = spec.serving, role.parallelism
    if serving is not None:
        state(Key.CONTEXT_LENGTH, "serving.contextLength", serving.context_length)
        state(Key.QUANTIZATION, "serving.quantization", serving.quantization)
        state(Key.KV_CACHE_DTYPE, "serving.kvCacheDtype", serving.kv_cache_dtype)
    if degrees is not None:
        state(Key.TENSOR, "parallelism.tensor", degrees.tensor)
        state(Key.PIPELINE, "parallelism.pipeline", degrees.pipeline)
        state(Key.DATA, "parallelism.data", degrees.data)
        state(Key.EXPERT, "parallelism.expert", degrees.expert)
    return found
