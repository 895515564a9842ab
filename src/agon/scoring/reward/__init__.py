"""The reward model: (prompt, answer) to a score, learnt from pairs that people have judged. Pure, numpy."""
