"""A Conan recipe for Tessera, whose dependencies are the system's Debian packages: conan create packaging/conan

Tried: conan inspect and conan export with Conan 2.34, which read the recipe and gather the sources it names.
Not tried: conan create, which compiles the library and then the first program of test_package."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt


class Tessera(ConanFile):
    name = "tessera"
    description = "Array programs on many devices: grad, vmap, jit and pmap for C++ structs"
    license = "Apache-2.0"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        config = load(self, os.path.join(self.root(), "include/tessera/config.h"))
        self.version = ".".join(re.findall(r"#define TESSERA_VERSION_[A-Z]+ (\d+)", config))

    def export_sources(self):
        for name in ("CMakeLists.txt", "LICENSE", "NOTICE"):
            copy(self, name, self.root(), self.export_sources_folder)
        copy(self, "docs/tessera.1", self.root(), self.export_sources_folder)
        for folder in ("cmake", "include", "plugins", "python", "src", "tools"):
            copy(self, "*", os.path.join(self.root(), folder), os.path.join(self.export_sources_folder, folder))

    def configure(self):
        # The library is compiled as C++20 for programs of any later standard.
        self.settings.rm_safe("compiler.cppstd")

    def system_requirements(self):
        Apt(self).install(["cmake", "ninja-build", "pkg-config", "llvm-19-dev", "libdnnl-dev", "libtbb-dev", "libsleef-dev", "libopenblas-dev",
                           "libfmt-dev", "nlohmann-json3-dev", "libxxhash-dev", "zlib1g-dev", "libzip-dev", "libdlpack-dev"])

    def generate(self):
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.cache_variables.update({"BUILD_SHARED_LIBS": True, "TESSERA_BUILD_TESTS": False, "TESSERA_BUILD_EXAMPLES": False,
                                          "TESSERA_PRECOMPILED_HEADERS": True, "TESSERA_UNITY": True})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for name in ("LICENSE", "NOTICE"):
            copy(self, name, self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # Tessera's own CMake package has its targets.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "tessera")]
        self.cpp_info.libs = ["tessera"]
