"""The parts of `benchmarks.rounds`: traffic, and the ways to bring an answer to a board."""
