"""A Jupyter kernel for C++ with Tessera."""
__version__ = "0.1.0"
