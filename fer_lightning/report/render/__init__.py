"""A report as one HTML page and as Markdown."""
