"""Reading event files as TensorBoard itself does."""

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def read_events(folder):
    """All events of a run, with restarts heeded and nothing sampled away."""
    events = EventAccumulator(str(folder), size_guidance={"images": 0, "scalars": 0, "tensors": 0})
    events.Reload()
    return events


def curve(events, name):
    return {point.step: round(point.value, 6) for point in events.Scalars(name)}
