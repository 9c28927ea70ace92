"""The untrusted side: the jail, the zygote in it, and the frames that cross the boundary."""
