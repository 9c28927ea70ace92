"""The `labs` command: arguments in, what the rooms below say out. No logic."""
