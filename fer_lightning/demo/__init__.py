"""A page on this machine: what models say of a face, where they look, and what hiding does."""
