"""How a turn gets its answers: decisions without effects, and the runner that carries them out."""
