"""A Spack recipe for Tessera, for a repository of one's own: a folder packages/tessera with this file. The source is the archive that
`scripts/package source` makes, in a mirror: spack mirror create, or spack stage with the archive in the cache.

Tried: nothing but tests/check_recipes.py, which reads it and compares its dependencies with those of CMake.
Not tried: an installation, because Spack was not at hand. The names of dependencies, and whether each of them has the pkg-config file
that CMake looks for, are unconfirmed."""
from spack.package import *


class Tessera(CMakePackage):
    """Array programs on many devices: grad, vmap, jit and pmap for C++ structs."""

    license("Apache-2.0")
    version("0.1.0")

    variant("mpi", default=False, description="Build the plug-in that joins several processes")

    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("dlpack", type="build")
    depends_on("llvm@19 +llvm_dylib targets=x86")
    depends_on("onednn")
    depends_on("tbb")
    depends_on("sleef")
    depends_on("openblas")
    depends_on("fmt")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("libzip")
    depends_on("mpi", when="+mpi")

    requires("target=x86_64:", msg="Tessera's kernels are for x86-64 processors")

    generator("ninja")

    def cmake_args(self):
        return [self.define("BUILD_SHARED_LIBS", True), self.define("TESSERA_BUILD_TESTS", False), self.define("TESSERA_BUILD_EXAMPLES", False),
                self.define("TESSERA_UNITY", True), self.define("TESSERA_LLVM_ROOT", self.spec["llvm"].prefix),
                self.define("CMAKE_DISABLE_FIND_PACKAGE_MPI", not self.spec.satisfies("+mpi"))]
