"""What the environment says. Each function reads its variable anew, and raises a ValueError whose text names the variable, its value
and the rule."""
import difflib
import os
import re
import warnings

MOST_DEVICES = 4096
_VARIABLES = ("JAX_TESSERA_DEVICES", "JAX_TESSERA_EXPLAIN", "JAX_TESSERA_LIBRARY", "JAX_TESSERA_UNTESTED_JAX")


def message(where, problem, rule, advice):
    """An error text as the library writes them."""
    return f"{where}: {problem}\n  rule: {rule}\n  try: {advice}"


def device_count(value, source, advice):
    """`value` as a number of devices. `source` is where it comes from."""
    text = str(value).strip()
    rule = f"an integer from 1 to {MOST_DEVICES}"
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(message(source, f"'{value}' is not a number", rule, advice))
    if not 1 <= int(text) <= MOST_DEVICES:
        raise ValueError(message(source, f"'{value}' is out of range", rule, advice))
    return int(text)


def devices_of_environment():
    """The number of devices that JAX_TESSERA_DEVICES asks for, or None."""
    value = os.environ.get("JAX_TESSERA_DEVICES", "")
    return device_count(value, "JAX_TESSERA_DEVICES", "JAX_TESSERA_DEVICES=8 in the environment") if value else None


def devices_of_jax(config):
    """The number of CPU devices that the program asks JAX for, in one of JAX's own two ways, or None."""
    asked = getattr(config, "jax_num_cpu_devices", -1)
    if asked is not None and asked > 0:
        return device_count(asked, "jax_num_cpu_devices", "jax.config.update('jax_num_cpu_devices', 8)")
    flags = re.findall(r"--xla_force_host_platform_device_count=(\S+)", os.environ.get("XLA_FLAGS", ""))
    if flags:
        return device_count(flags[-1], "--xla_force_host_platform_device_count", "XLA_FLAGS=--xla_force_host_platform_device_count=8")
    return None


def explain_folder():
    """The folder for pages about programs, made if it is not there, or None."""
    value = os.environ.get("JAX_TESSERA_EXPLAIN", "")
    if not value:
        return None
    folder = os.path.abspath(value)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as e:
        raise ValueError(message("JAX_TESSERA_EXPLAIN", f"'{value}' cannot be used as a folder: {e.strerror}",
                                 "a folder that exists or can be made", "JAX_TESSERA_EXPLAIN=pages in the environment")) from None
    return folder


def library():
    """The path of the library: that of the environment, or that of this package."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtessera_pjrt.so")
    value = os.environ.get("JAX_TESSERA_LIBRARY", "")
    if value:
        if not os.path.isfile(value):
            raise ValueError(message("JAX_TESSERA_LIBRARY", f"there is no file '{value}'", "the path of a libtessera_pjrt.so",
                                     "unset it, for the library of this package"))
        return os.path.abspath(value)
    if not os.path.isfile(inside):
        raise ValueError(message("jax_tessera", f"this copy of the package has no library: there is no file '{inside}'",
                                 "the wheel holds the library; a folder of the source does not",
                                 "JAX_TESSERA_LIBRARY=/path/to/build/release/src/libtessera_pjrt.so in the environment"))
    return inside


def tries_untested():
    value = os.environ.get("JAX_TESSERA_UNTESTED_JAX", "")
    if value not in ("", "0", "1"):
        raise ValueError(message("JAX_TESSERA_UNTESTED_JAX", f"'{value}' is no flag", "0 or 1", "JAX_TESSERA_UNTESTED_JAX=1 in the environment"))
    return value == "1"


def warn_of_slips():
    """Warns of variables that look like one of ours, which would otherwise be ignored without a word."""
    for name in os.environ:
        if name.startswith("JAX_TESSERA_") and name not in _VARIABLES:
            nearest = difflib.get_close_matches(name, _VARIABLES, n=1, cutoff=0)[0]
            warnings.warn(message("environment", f"there is no setting {name}", "jax_tessera ignores what it does not know",
                                  f"{nearest} is one"), RuntimeWarning, stacklevel=2)
