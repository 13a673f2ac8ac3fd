"""What a focus number is worth: null maps, changed masks, hiding and randomisation."""
