"""Authoring: the gate that tells whether a lab is any good."""
