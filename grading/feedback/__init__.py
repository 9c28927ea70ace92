"""Report in, text out: the comment, the terminal, the diagnosis, hints and the oral exam. Everything here is pure."""
