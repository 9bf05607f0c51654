"""Metacontroller's composite protocol, hook version v2: bytes to plain types and back. Nothing else knows it."""
