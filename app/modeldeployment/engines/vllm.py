"""vLLM: `vllm serve`. Flags as the parser of 0.33.0 reads them; older releases know fewer of them."""

from app.api.owned import OWNED_ARGUMENTS
from app.modeldeployment.engines.base import Engine
from app.modeldeployment.engines.flags import Key, grammar

_NAME = "vLLM"

_SPELLINGS: dict[str, tuple[str, ...]] = {
    Key.HOST: ("--host",),
    Key.PORT: ("--port",),
    Key.CERTIFICATE: ("--ssl-certfile",),
    Key.PRIVATE_KEY: ("--ssl-keyfile",),
    Key.CLIENT_CERTIFICATE: ("--ssl-cert-reqs",),
    Key.SERVED_NAME: ("--served-model-name",),
    Key.MODEL: ("--model",),
    Key.CONTEXT_LENGTH: ("--max-model-len",),
    Key.QUANTIZATION: ("--quantization", "-q"),
    Key.KV_CACHE_DTYPE: ("--kv-cache-dtype",),
    Key.TENSOR: ("--tensor-parallel-size", "-tp"),
    Key.PIPELINE: ("--pipeline-parallel-size", "-pp"),
    Key.DATA: ("--data-parallel-size", "-dp"),
    Key.DATA_LOCAL: ("--data-parallel-size-local", "-dpl"),
    Key.DATA_RANK: ("--data-parallel-rank", "-dpn"),
    Key.EXPERT: ("--enable-expert-parallel", "--no-enable-expert-parallel", "-ep"),
    "--nnodes": ("--nnodes", "-n"),
    "--node-rank": ("--node-rank", "-r"),
    "--master-addr": ("--master-addr",),
    "--headless": ("--headless",),
    **{flag: (flag,) for flag in sorted(OWNED_ARGUMENTS[_NAME])},
}


def _base(model: str) -> list[str]:
    return ["vllm", "serve", model]


def _distributed(size: int, member: int, leader: str) -> list[str]:
    """The multi-node `mp` executor; only member 0 serves the API."""
    flags = ["--nnodes", str(size), "--node-rank", str(member), "--master-addr", leader]
    return [*flags, "--headless"] if member else flags


VLLM = Engine(
    name=_NAME,
    grammar=grammar(_SPELLINGS, flexible=True),
    base=_base,
    flags={
        Key.CONTEXT_LENGTH: "--max-model-len",
        Key.QUANTIZATION: "--quantization",
        Key.KV_CACHE_DTYPE: "--kv-cache-dtype",
        Key.TENSOR: "--tensor-parallel-size",
        Key.PIPELINE: "--pipeline-parallel-size",
        Key.DATA: "--data-parallel-size",
        Key.EXPERT: "--enable-expert-parallel",
    },
    switches=frozenset({Key.EXPERT}),
    distributed=_distributed,
    gauges="vllm:num_requests_(?:running|waiting)",
    numbers=frozenset({"VLLM_DP_SIZE"}),
    # The first release in which the `mp` executor spans nodes (vllm-project/vllm#23691).
    several_pods_since=(0, 11, 1),
)
