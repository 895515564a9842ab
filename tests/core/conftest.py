"""How Hypothesis runs here: no time limit for an example, since the machine may be busy."""

from hypothesis import settings

settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
