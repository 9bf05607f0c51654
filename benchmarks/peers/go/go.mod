module hangar.dev/benchmarks/hook

go 1.21
