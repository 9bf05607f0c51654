"""The kinds as pydantic models. The CRDs are generated from them; CEL rules stand beside the fields they guard."""
