"""Keeps the processes of one machine running: stores, runner, worker, gateway."""
