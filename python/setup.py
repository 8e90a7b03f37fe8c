"""The parts of the project's description that depend on code: the versions, and the tag of a wheel that holds a library for one kind of
machine, but for every version of Python."""
import pathlib

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.dist import Distribution

versions = {}
exec((pathlib.Path(__file__).parent / "jax_tessera/_version.py").read_text(), versions)
supported = versions["SUPPORTED_JAX"]


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(version=versions["__version__"], install_requires=[f"jax>={supported[0]},<={supported[-1]}"], distclass=WithLibrary,
      cmdclass={"bdist_wheel": AnyPython})
