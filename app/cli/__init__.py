"""The command line: one module per verb, `main` ties them together."""
