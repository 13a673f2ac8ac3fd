"""Pictures from numbers: functions that return a Figure and never save or log it."""
