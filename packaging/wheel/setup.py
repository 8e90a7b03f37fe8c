"""The parts of the project's description that depend on code: the version, and the tag of a wheel that holds a library for one kind of
machine, but for every version of Python."""
import pathlib
import re

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.dist import Distribution

config = (pathlib.Path(__file__).parent / "tessera/include/tessera/config.h").read_text()


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(version=".".join(re.findall(r"#define TESSERA_VERSION_[A-Z]+ (\d+)", config)), distclass=WithLibrary, cmdclass={"bdist_wheel": AnyPython})
