"""Rounds: question banks in, ranked boards out."""
