"""Hangar: language models on Kubernetes, as a Metacontroller webhook."""

__version__ = "0.1.0"
