"""The C++ library Tessera. Python programs need nothing of this package but, perhaps, where its files are."""
import os
import pathlib
import sys


def prefix():
    """The folder with include/, lib/ and bin/."""
    return str(pathlib.Path(__file__).resolve().parent)


def cmake_dir():
    """The folder of the CMake package, as `tessera --cmake-dir` prints it."""
    return os.path.join(prefix(), "lib", "cmake", "tessera")


def main():
    """Becomes the command `tessera`."""
    program = os.path.join(prefix(), "bin", "tessera")
    os.execv(program, ["tessera", *sys.argv[1:]])
