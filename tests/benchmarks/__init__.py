"""The benchmarks run, compare like with like, and are explained."""
