"""Votes to ratings. Pure and numpy only: the same votes give the same board, whoever computes it and when."""
