"""Builds a first program with the package, as `conan create packaging/conan` does at its end."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake


class FirstProgram(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps"

    def layout(self):
        self.folders.build = "build"
        self.folders.generators = "build/generators"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(os.path.join(self.build_folder, "first_program"), env="conanrun")
