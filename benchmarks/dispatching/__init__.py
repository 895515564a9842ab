"""The parts of the dispatch benchmark: peers and load, the simulated fleet, and what each part measures."""
