"""Values and rules of the arena. Pure: nothing here reads a clock, a socket or chance."""
