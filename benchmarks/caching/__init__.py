"""What `benchmarks/cache.py` measures."""
