"""Where a model looks: maps by several methods, numbers of them, and controls beside them."""
