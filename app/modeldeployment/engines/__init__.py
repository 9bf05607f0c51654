"""The engines behind one small interface: command line, flags, metrics names."""

from collections.abc import Mapping
from types import MappingProxyType

from app.modeldeployment.engines.base import Engine
from app.modeldeployment.engines.flags import Flag, Flags, Grammar, Key, grammar
from app.modeldeployment.engines.sglang import SGLANG
from app.modeldeployment.engines.vllm import VLLM

ENGINES: Mapping[str, Engine] = MappingProxyType({engine.name: engine for engine in (VLLM, SGLANG)})

__all__ = ["ENGINES", "Engine", "Flag", "Flags", "Grammar", "Key", "grammar"]
