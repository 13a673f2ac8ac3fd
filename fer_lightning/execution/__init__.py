"""Trainings as processes: started, watched, stopped and never twice in the same folder."""
