"""The version of this package, and the versions of JAX with which it is tested. The wheel's metadata have both."""
__version__ = "0.1.0"
SUPPORTED_JAX = ("0.10.2", "0.11.1", "0.12.0.1")
