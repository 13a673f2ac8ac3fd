"""The page of a sweep, made of the same parts as a study's."""
