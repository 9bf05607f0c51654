"""InstanceType: a named shape of node that roles ask for. Its spec is frozen: a change is a new type."""

from pydantic import ConfigDict, Field

from app.api.base import KubeModel, extras, listed
from app.api.kubernetes import LabelValue, Name, Quantity, QueueName, Toleration
from app.api.rules import unchanged


class Accelerator(KubeModel):
    """The card of this type."""

    resource: str = Field(
        min_length=1,
        max_length=317,
        description="Extended resource that counts the cards, for example nvidia.com/gpu.",
    )
    manufacturer: str = Field(min_length=1, max_length=63, description="Maker, for example NVIDIA, AMD or Ascend.")
    product: str | None = Field(default=None, max_length=253, description="Product name, shown to people.")


class PerAccelerator(KubeModel):
    """What goes with each card, or with each Pod where the type has no accelerator."""

    cpu: Quantity | None = Field(default=None, description="CPU cores.")
    memory: Quantity | None = Field(default=None, description="Memory in bytes.")


class Images(KubeModel):
    """Image templates by engine; `{version}` is replaced by the engine version."""

    vllm: str | None = Field(default=None, alias="vLLM", min_length=1, max_length=512, description="Image of vLLM.")
    sglang: str | None = Field(
        default=None, alias="SGLang", min_length=1, max_length=512, description="Image of SGLang."
    )


class InstanceTypeSpec(KubeModel):
    """The shape of node that roles ask for. Frozen whole: a change is a new type."""

    model_config = ConfigDict(
        json_schema_extra=extras(unchanged("spec", "create another InstanceType, and name it in new deployments"))
    )

    queue_name: QueueName | None = Field(
        default=None,
        description="LocalQueue of that name in each namespace that uses the type; absent: its roles take no quota.",
    )
    accelerator: Accelerator | None = Field(default=None, description="The card; absent on a type without any.")
    per_accelerator: PerAccelerator | None = Field(
        default=None, description="CPU and memory per card, or per Pod where there is no accelerator."
    )
    ephemeral_storage: Quantity | None = Field(
        default=None, description="Ephemeral storage per Pod, as request and limit."
    )
    node_selector: dict[str, LabelValue] = Field(
        default_factory=dict, max_length=32, description="Labels that the nodes of this type have."
    )
    tolerations: list[Toleration] = listed(description="Taints of those nodes.", maximum=32)
    runtime_class_name: Name | None = Field(default=None, description="RuntimeClass of the Pods.")
    images: Images | None = Field(default=None, description="Image templates by engine.")
