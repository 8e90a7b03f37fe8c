"""JAX on Tessera's CPU engine.

JAX finds this package through its entry point when it first needs a device, and calls `initialize()`. That registers a platform,
"tessera", which JAX prefers to its own CPU client. The library is loaded only if JAX really uses the platform.

    JAX_TESSERA_DEVICES=8          the number of virtual devices
    JAX_TESSERA_EXPLAIN=folder     writes a page about each program that JAX compiles
    JAX_TESSERA_LIBRARY=path       another libtessera_pjrt.so than the one of this package
    JAX_TESSERA_UNTESTED_JAX=1     tries a version of JAX with which this package was not tested
"""
from jax_tessera._plugin import initialize, set_device_count
from jax_tessera._version import SUPPORTED_JAX, __version__

__all__ = ["SUPPORTED_JAX", "__version__", "initialize", "set_device_count"]
