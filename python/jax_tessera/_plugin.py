"""Registers the platform "tessera" with JAX.

This file uses functions of JAX that are not public, because a plug-in cannot be registered otherwise. They differ between versions,
so the package works only with the versions that it is tested with.
"""
import ctypes
import functools
import importlib.util
import os
import sys
import threading
import warnings

from jax_tessera import _settings
from jax_tessera._version import SUPPORTED_JAX, __version__

PLATFORM = "tessera"
_lock = threading.Lock()
_registered = False
_device_count = None  # what set_device_count asked for


def initialize():
    """Registers the platform. JAX calls this function before it first needs a device; further calls do nothing."""
    global _registered
    with _lock:
        if _registered:
            return
        _registered = True
    _settings.warn_of_slips()
    try:
        reason = None if _settings.tries_untested() else _refused_versions()
    except ValueError as e:
        reason = str(e)
    if reason is None:
        _register()
    else:
        _refuse(reason)


def set_device_count(n):
    """Sets the number of virtual devices. Call it before the first use of JAX's devices; it precedes JAX_TESSERA_DEVICES."""
    global _device_count
    advice = "jax_tessera.set_device_count(8), before the first use of JAX"
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(_settings.message("set_device_count", f"{n!r} is not a number", f"an integer from 1 to {_settings.MOST_DEVICES}", advice))
    n = _settings.device_count(n.__index__(), "set_device_count", advice)
    from jax._src import xla_bridge
    if xla_bridge.backends_are_initialized():
        client = xla_bridge.backends().get(PLATFORM)
        if client is not None and client.device_count() == n:
            return
        there = "JAX runs without Tessera" if client is None else f"there are {client.device_count()} devices"
        raise RuntimeError(_settings.message("set_device_count", f"JAX has its devices already, and {there}",
                                             "the number of devices is fixed when JAX first needs one", advice))
    _device_count = n


def _refused_versions():
    """Why this package does not work with the JAX that is installed, or None."""
    import jax
    import jaxlib
    here = {"jax": jax.__version__, "jaxlib": jaxlib.__version__}
    if all(version in SUPPORTED_JAX for version in here.values()):
        return None
    *first, last = SUPPORTED_JAX
    installable = last if sys.version_info >= (3, 12) else SUPPORTED_JAX[0]  # later ones need a newer Python
    return _settings.message(
        "jax_tessera", f"version {__version__} is not tested with jax {here['jax']} and jaxlib {here['jaxlib']}",
        f"jax and jaxlib of version {', '.join(first)} or {last}",
        f"pip install 'jax=={installable}', a newer jax-tessera, or JAX_TESSERA_UNTESTED_JAX=1 in the environment")


def _refuse(reason):
    """Leaves JAX with its own CPU client, says so, and gives the reason to whoever asks for our platform."""
    from jax._src import config, xla_bridge

    def raise_reason():
        raise RuntimeError(reason)

    try:
        # A priority below that of JAX's own CPU client, and a failure that JAX keeps for itself unless the platform is asked for.
        xla_bridge.register_backend_factory(PLATFORM, raise_reason, priority=-1, fail_quietly=True)
        asked = config.jax_platforms.value
    except (AttributeError, TypeError):  # another JAX may have these functions in another form
        asked = os.environ.get("JAX_PLATFORMS")
    if not asked:  # otherwise JAX raises the reason itself, or the program does not want Tessera
        warnings.warn(f"{reason}\nJAX goes on without Tessera.", RuntimeWarning, stacklevel=_level_of_user())


def _level_of_user():
    """The `stacklevel` with which a warning of the caller names the line of the program that made JAX look for its devices."""
    import jax
    inside = (os.path.dirname(jax.__file__), os.path.dirname(__file__))
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame, level = frame.f_back, level + 1
    return level


def _register():
    from jax._src import xla_bridge
    # register_plugin would load the library at once, for programs too that choose another platform.
    xla_bridge.register_backend_factory(PLATFORM, _make_client, priority=500, fail_quietly=False, make_topology=_make_topology)


def _load():
    """Loads the library, and returns its table of functions for JAX."""
    from jax._src.lib import _profiler, xla_client
    global _api
    with _lock:
        if _api is None:
            path = _settings.library()
            _api = xla_client.load_pjrt_plugin_dynamically(PLATFORM, path)
            _profiler.register_plugin_profiler(_api)
            os.register_at_fork(after_in_child=_forked)
            if importlib.util.find_spec("jax_tessera.callbacks"):
                from jax_tessera import callbacks
                callbacks.install(ctypes.CDLL(path))
            _estimate_costs()
        return _api


_api = None


def _estimate_costs():
    """Makes `Lowered.cost_analysis` compile a program for our client: JAX refuses it for all clients behind PJRT's C interface."""
    from jax._src.interpreters import pxla
    original = pxla.MeshComputation.cost_analysis

    @functools.wraps(original)
    def cost_analysis(self):
        ours = "tessera" in getattr(self.compile_args["backend"], "platform_version", "")
        return self.compile().cost_analysis() if ours else original(self)

    pxla.MeshComputation.cost_analysis = cost_analysis


def _forked():
    """Prepares a process that was forked for the threads that only its parent has."""
    import jaxlib
    from jax._src import compiler, xla_bridge
    # The destructor of a client would wait for them, jaxlib's own client too, so clients stay to the end of the process.
    for client in xla_bridge._backends.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
    if jaxlib.version.__version_info__ >= (0, 11):
        return

    def refuse(*_, **__):
        raise RuntimeError(_settings.message(
            "jax_tessera", "a process that was forked from one that uses JAX compiles a program",
            f"jaxlib {jaxlib.__version__} compiles on threads that the new process does not have",
            "multiprocessing.get_context('spawn'), or jax 0.11.1 or later"))

    compiler.backend_compile_and_load = refuse


def _make_client():
    from jax._src import xla_bridge
    options = _options()
    _load()
    return xla_bridge.make_pjrt_c_api_client(PLATFORM, options)


def _make_topology(*args, **kwargs):
    from jax._src.lib import xla_client
    return xla_client.make_c_api_device_topology(_load(), *args, **kwargs)


def _options():
    """The options that the library gets. Without `device_count` it asks TESSERA_DEVICES, and else makes one device."""
    import jax
    options = {}
    count = _device_count or _settings.devices_of_environment() or _settings.devices_of_jax(jax.config)
    if count is not None:
        options["device_count"] = count
    if (folder := _settings.explain_folder()) is not None:
        options["explain"] = folder
    return options
