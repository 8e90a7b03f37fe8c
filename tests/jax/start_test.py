"""How the plug-in is found, chosen and set up: each test is a Python process of its own, with its environment."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import check
from jax_tessera import SUPPORTED_JAX, __version__

NAME = "('tessera' if 'tessera' in jax.devices()[0].client.platform_version else 'jaxlib')"
SHOW = f"import jax; print(len(jax.devices()), {NAME}); "
COMPUTE = "import jax.numpy as jnp; print(jax.jit(lambda x: x + 1)(jnp.arange(3.0)))"


def run(program, fails=False, **environment):
    """The lines that a program prints, or the last lines of its error."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=check.environment(**environment), timeout=300)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr.strip() if fails else (done.stdout.strip().splitlines(), done.stderr.strip())


class Choice(unittest.TestCase):
    def shows(self, lines, program=SHOW, **environment):
        out, err = run(program, **environment)
        check.true(out == lines, f"{environment}: {out} {err}")
        check.true(err == "", f"{environment}: nothing on stderr, but {err}")

    def test_default(self):
        self.shows(["1 tessera", "[1. 2. 3.]"], SHOW + COMPUTE)

    def test_platforms(self):
        self.shows(["1 tessera", "[1. 2. 3.]"], SHOW + COMPUTE, JAX_PLATFORMS="tessera")
        self.shows(["1 tessera", "[1. 2. 3.]"], SHOW + COMPUTE, JAX_PLATFORMS="tessera,cpu")
        self.shows(["1 tessera"], JAX_PLATFORMS="")
        out, _ = run(SHOW, JAX_PLATFORMS="cpu")
        check.equal(out, ["1 jaxlib"])
        out, _ = run(SHOW, JAX_PLATFORMS="cpu,tessera")
        check.equal(out, ["1 jaxlib"])
        self.shows(["1 tessera"], "import jax; jax.config.update('jax_platforms', 'tessera'); " + SHOW)

    def test_the_library_is_not_loaded_for_another_platform(self):
        maps = "; print('libtessera_pjrt' in open('/proc/self/maps').read())"
        check.equal(run("import jax; jax.devices()" + maps, JAX_PLATFORMS="cpu")[0], ["False"])
        check.equal(run("import jax; jax.devices()" + maps)[0], ["True"])

    def test_both_backends(self):
        self.shows(["1 tessera", "True False False"], SHOW + "c = jax.devices('cpu')[0]; print(jax.devices('tessera') == jax.devices(), "
                   "c in jax.devices(), 'tessera' in c.client.platform_version)")

    def test_second_import(self):
        self.shows(["1 tessera", "1 tessera"], SHOW + "import importlib, jax_tessera; importlib.reload(jax_tessera); jax_tessera.initialize(); jax_tessera.initialize(); " + SHOW)
        self.shows(["1 tessera"], "import jax_tessera; jax_tessera.initialize(); " + SHOW)

    def test_again_after_clearing(self):
        self.shows(["1 tessera", "4 tessera"], SHOW + "import jax.extend, jax_tessera; jax.extend.backend.clear_backends(); jax_tessera.set_device_count(4); " + SHOW)

    def test_two_processes_at_once(self):
        processes = [subprocess.Popen([sys.executable, "-c", SHOW + COMPUTE], stdout=subprocess.PIPE, env=check.environment(), text=True) for _ in range(3)]
        for p in processes:
            check.equal(p.communicate(timeout=300)[0].splitlines(), ["1 tessera", "[1. 2. 3.]"])
            check.equal(p.returncode, 0)


class Devices(unittest.TestCase):
    def count(self, program=SHOW, **environment):
        out, err = run(program, **environment)
        check.true(err == "", err)
        return out[-1]

    def test_count(self):
        check.equal(self.count(JAX_TESSERA_DEVICES=8), "8 tessera")
        check.equal(self.count("import jax_tessera; jax_tessera.set_device_count(3); " + SHOW), "3 tessera")
        check.equal(self.count("import jax_tessera; jax_tessera.set_device_count(3); " + SHOW, JAX_TESSERA_DEVICES=8), "3 tessera")
        check.equal(self.count(TESSERA_DEVICES=5), "5 tessera")

    def test_count_as_for_jaxlib(self):
        check.equal(self.count("import jax; jax.config.update('jax_num_cpu_devices', 6); " + SHOW), "6 tessera")
        check.equal(self.count(XLA_FLAGS="--xla_force_host_platform_device_count=7"), "7 tessera")
        check.equal(self.count(XLA_FLAGS="--xla_force_host_platform_device_count=7", JAX_TESSERA_DEVICES=2), "2 tessera")

    def test_mistakes(self):
        for value, problem in (("eight", "'eight' is not a number"), ("2.5", "'2.5' is not a number"), ("0", "'0' is out of range"),
                               ("-3", "'-3' is out of range"), ("5000", "'5000' is out of range")):
            err = run(SHOW, fails=True, JAX_TESSERA_DEVICES=value)
            text = (f"JAX_TESSERA_DEVICES: {problem}\n  rule: an integer from 1 to 4096\n  try: JAX_TESSERA_DEVICES=8 in the environment")
            check.true(text in err, err)
            out, _ = run(SHOW, JAX_TESSERA_DEVICES=value, JAX_PLATFORMS="cpu")
            check.equal(out, ["1 jaxlib"], "jaxlib's client does not read the variable")

    def test_mistakes_of_set_device_count(self):
        begin = "import jax_tessera; jax_tessera.set_device_count"
        advice = "  try: jax_tessera.set_device_count(8), before the first use of JAX"
        for argument, kind, problem in (("(0)", "ValueError", "'0' is out of range"), ("('8')", "TypeError", "'8' is not a number"),
                                        ("(True)", "TypeError", "True is not a number"), ("(2.0)", "TypeError", "2.0 is not a number")):
            err = run(begin + argument, fails=True)
            check.true(f"{kind}: set_device_count: {problem}\n  rule: an integer from 1 to 4096\n{advice}" in err, err)
        err = run(SHOW + begin + "(4)", fails=True)
        check.true("RuntimeError: set_device_count: JAX has its devices already, and there are 1 devices\n"
                   f"  rule: the number of devices is fixed when JAX first needs one\n{advice}" in err, err)
        run(SHOW + begin + "(1)")
        err = run(SHOW + begin + "(4)", fails=True, JAX_PLATFORMS="cpu")
        check.true("JAX has its devices already, and JAX runs without Tessera" in err, err)


class Settings(unittest.TestCase):
    def test_library(self):
        err = run(SHOW, fails=True, JAX_TESSERA_LIBRARY="/no/such.so")
        check.true("JAX_TESSERA_LIBRARY: there is no file '/no/such.so'\n  rule: the path of a libtessera_pjrt.so\n"
                   "  try: unset it, for the library of this package" in err, err)

    def test_a_slip(self):
        out, err = run(SHOW, JAX_TESSERA_DEVICE="8")
        check.equal(out, ["1 tessera"])
        check.true("environment: there is no setting JAX_TESSERA_DEVICE\n  rule: jax_tessera ignores what it does not know\n"
                   "  try: JAX_TESSERA_DEVICES is one" in err, err)

    def test_explain(self):
        with tempfile.TemporaryDirectory() as folder:
            pages = pathlib.Path(folder) / "a/pages"
            run(SHOW + "jax.jit(lambda x: jax.numpy.sin(x) @ x)(jax.numpy.ones((8, 8)))", JAX_TESSERA_EXPLAIN=pages)
            found = [p for p in pages.iterdir() if p.suffix == ".html"]
            check.true(len(found) >= 1 and all("<html" in p.read_text().lower() for p in found), f"pages: {sorted(pages.iterdir())}")
            (pages / "file").write_text("")
            err = run(SHOW, fails=True, JAX_TESSERA_EXPLAIN=pages / "file")
            check.true(f"JAX_TESSERA_EXPLAIN: '{pages}/file' cannot be used as a folder: File exists\n"
                       "  rule: a folder that exists or can be made" in err, err)

    def test_a_page_that_cannot_be_written(self):
        # Files of more than 1 KB cannot be written, as on a full disk.
        full = ("import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); jax.devices(); "
                "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)); ")
        with tempfile.TemporaryDirectory() as pages:
            out, err = run("import jax; " + full + COMPUTE + "; print(jax.jit(lambda x: x * 2)(jnp.arange(3.0)))",
                           JAX_TESSERA_EXPLAIN=pages, TESSERA_CACHE_DIR="")
            check.equal(out, ["[1. 2. 3.]", "[0. 2. 4.]"])
            lines = err.splitlines()
            check.true(re.fullmatch(rf"tessera warning: explain: the page of 'jit_\w+' is missing: "
                                    rf"'{pages}/0001_jit_\w+\.html' cannot be written: File too large", lines[0]), err)
            check.equal(lines[1:], ["  rule: programs run without their pages, and only the first that is missing is reported",
                                    "  try: a folder where files may be written, with room for them"], "one warning")
            check.equal(list(pathlib.Path(pages).iterdir()), [], "nothing is left of a page")


class Versions(unittest.TestCase):
    FAKED = "import jax; jax.__version__ = '0.9.0'; "
    *FIRST, LAST = SUPPORTED_JAX

    def reason(self):
        import jaxlib
        newest = self.LAST if sys.version_info >= (3, 12) else SUPPORTED_JAX[0]
        return (f"jax_tessera: version {__version__} is not tested with jax 0.9.0 and jaxlib {jaxlib.__version__}\n"
                f"  rule: jax and jaxlib of version {', '.join(self.FIRST)} or {self.LAST}\n"
                f"  try: pip install 'jax=={newest}', a newer jax-tessera, or JAX_TESSERA_UNTESTED_JAX=1 in the environment")

    def test_another_jax_goes_on_without_us(self):
        out, err = run(self.FAKED + SHOW + COMPUTE)
        check.equal(out, ["1 jaxlib", "[1. 2. 3.]"])
        check.true(err.startswith(f"<string>:1: RuntimeWarning: {self.reason()}\nJAX goes on without Tessera."), err)

    def test_it_is_quiet_where_nobody_asks(self):
        out, err = run(self.FAKED + SHOW, JAX_PLATFORMS="cpu")
        check.equal(out, ["1 jaxlib"])
        check.true(err == "", err)

    def test_who_asks_gets_the_reason(self):
        check.true(self.reason() in run(self.FAKED + SHOW, fails=True, JAX_PLATFORMS="tessera"), "JAX_PLATFORMS=tessera")
        err = run(self.FAKED + "import warnings; warnings.simplefilter('ignore'); jax.devices('tessera')", fails=True)
        check.true(self.reason() in err, err)

    def test_who_insists(self):
        check.equal(run(self.FAKED + SHOW, JAX_TESSERA_UNTESTED_JAX=1)[0], ["1 tessera"])
        _, err = run(self.FAKED + SHOW, JAX_TESSERA_UNTESTED_JAX="yes")
        check.true("JAX_TESSERA_UNTESTED_JAX: 'yes' is no flag\n  rule: 0 or 1" in err, err)


if __name__ == "__main__":
    check.main()
