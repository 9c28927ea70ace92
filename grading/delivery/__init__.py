"""Delivery: how a lab reaches a learner (branches) and how an answer comes back (the hub)."""
