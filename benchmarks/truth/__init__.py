"""What is true of the synthetic world: its changes between two days, and its names. Benchmarks and tests read it."""
