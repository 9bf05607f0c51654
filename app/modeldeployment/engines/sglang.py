"""SGLang: `python3 -m sglang.launch_server`. Flags as the parser of 0.5.23 reads them."""

from app.api.owned import OWNED_ARGUMENTS
from app.api.role import RoleKind
from app.modeldeployment.engines.base import Engine
from app.modeldeployment.engines.flags import Key, grammar

_NAME = "SGLang"
_BOOTSTRAP_PORT = 8998
_RENDEZVOUS_PORT = 20000

_SPELLINGS: dict[str, tuple[str, ...]] = {
    Key.HOST: ("--host",),
    Key.PORT: ("--port",),
    Key.CERTIFICATE: ("--ssl-certfile",),
    Key.PRIVATE_KEY: ("--ssl-keyfile",),
    Key.CLIENT_CERTIFICATE: ("--ssl-cert-reqs",),
    Key.SERVED_NAME: ("--served-model-name",),
    Key.MODEL: ("--model-path", "--model"),
    Key.CONTEXT_LENGTH: ("--context-length",),
    Key.QUANTIZATION: ("--quantization",),
    Key.KV_CACHE_DTYPE: ("--kv-cache-dtype",),
    Key.TENSOR: ("--tp-size", "--tensor-parallel-size"),
    Key.PIPELINE: ("--pp-size", "--pipeline-parallel-size"),
    Key.DATA: ("--dp-size", "--data-parallel-size"),
    Key.EXPERT: ("--ep-size", "--expert-parallel-size", "--ep"),
    "--dist-init-addr": ("--dist-init-addr", "--nccl-init-addr"),
    "--nnodes": ("--nnodes",),
    "--node-rank": ("--node-rank",),
    **{flag: (flag,) for flag in sorted(OWNED_ARGUMENTS[_NAME])},
}


def _base(model: str) -> list[str]:
    # Without --enable-metrics there are no gauges to drain by.
    return ["python3", "-m", "sglang.launch_server", "--model-path", model, "--enable-metrics"]


def _distributed(size: int, member: int, leader: str) -> list[str]:
    return ["--dist-init-addr", f"{leader}:{_RENDEZVOUS_PORT}", "--nnodes", str(size), "--node-rank", str(member)]


def _split(kind: RoleKind) -> list[str]:
    if kind == "Server":
        return []
    mode = ["--disaggregation-mode", kind.lower()]
    return [*mode, "--disaggregation-bootstrap-port", str(_BOOTSTRAP_PORT)] if kind == "Prefill" else mode


SGLANG = Engine(
    name=_NAME,
    # SGLang has no --ssl-cert-reqs of its own: only the full name can be meant for what it hands on.
    grammar=grammar(_SPELLINGS, unabbreviated=("--ssl-cert-reqs",)),
    base=_base,
    flags={
        Key.CONTEXT_LENGTH: "--context-length",
        Key.QUANTIZATION: "--quantization",
        Key.KV_CACHE_DTYPE: "--kv-cache-dtype",
        Key.TENSOR: "--tp-size",
        Key.PIPELINE: "--pp-size",
        Key.DATA: "--dp-size",
        Key.EXPERT: "--ep-size",
    },
    distributed=_distributed,
    split=_split,
    bootstrap_port=_BOOTSTRAP_PORT,
    gauges="sglang:num_(?:running|queue|prefill_(?:bootstrap|inflight)_queue|decode_(?:prealloc|transfer)_queue)_reqs",
)
