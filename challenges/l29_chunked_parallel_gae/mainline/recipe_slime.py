"""Load slime's ppo_utils.py: it needs nothing but torch."""

import slime.utils.ppo_utils  # noqa: F401
