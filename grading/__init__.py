"""Mainline's engine: the rooms are described in docs/architecture.md."""
