"""One report of many runs: what it says, and how it is written."""


# --- The page of a sweep, made of the same parts as a study's
