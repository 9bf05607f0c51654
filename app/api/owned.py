"""Arguments and variables that are Hangar's own to render, by engine name. One table for the schema and the renderer.

The schema refuses their exact spelling; the renderer reads them as the engine does (unique prefixes too).
"""

from collections.abc import Mapping
from types import MappingProxyType

# Owned on every role whose command line Hangar renders.
OWNED_ARGUMENTS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "vLLM": frozenset({"--kv-transfer-config", "--kv-events-config"}),
        "SGLang": frozenset(
            {
                "--hicache-storage-backend",
                "--hicache-storage-backend-extra-config",
                "--disaggregation-mode",
                "--disaggregation-transfer-backend",
                "--disaggregation-bootstrap-port",
            }
        ),
    }
)

# Owned as well where a replica has several Pods: who leads and who is which member is not the user's to say.
DISTRIBUTED_ARGUMENTS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "vLLM": frozenset({"--nnodes", "--node-rank", "--master-addr", "--headless", "-n", "-r"}),
        "SGLang": frozenset({"--dist-init-addr", "--nccl-init-addr", "--nnodes", "--node-rank"}),
    }
)

# Owned on every role of the engine, also on roles that replace their command line.
OWNED_ENVIRONMENT: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "vLLM": frozenset({"MOONCAKE_CONFIG_PATH", "VLLM_MOONCAKE_BOOTSTRAP_PORT"}),
        "SGLang": frozenset(
            {
                "SGLANG_HICACHE_MOONCAKE_CONFIG_PATH",
                "MOONCAKE_MASTER",
                "MOONCAKE_TE_META_DATA_SERVER",
                "MOONCAKE_PROTOCOL",
                "MOONCAKE_DEVICE",
                "MOONCAKE_GLOBAL_SEGMENT_SIZE",
                "MOONCAKE_LOCAL_HOSTNAME",
                "MOONCAKE_TENANT_ID",
            }
        ),
    }
)

# Owned on every role of every engine and size: set where a replica has several Pods.
RANK_ENVIRONMENT: frozenset[str] = frozenset({"HANGAR_LEADER_ADDRESS", "HANGAR_REPLICA_SIZE", "HANGAR_MEMBER_INDEX"})
