"""The stand-in for Kueue against what the real one did in the trials."""
