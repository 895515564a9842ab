"""Live boards: votes in, a published board out."""
