"""What every benchmark shares: interleaved repeats, ratios with intervals, a table and a file of results."""
