"""Agon: a self-hosted arena where people compare language models and get a leaderboard they can trust."""
