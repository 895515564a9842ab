"""Use cases of the arena: battles, chats and votes; who takes part."""
