"""Why does one vision architecture beat another on facial expressions, and can you trust it?"""

__version__ = "0.1.0"
