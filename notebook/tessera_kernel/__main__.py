"""python -m tessera_kernel install    makes the kernel known to Jupyter, and compiles what it needs once
python -m tessera_kernel -f FILE       is how Jupyter starts it"""
import argparse
import json
import pathlib
import sys
import tempfile
import time

from .toolchain import SetupError, find


def install(arguments):
    parser = argparse.ArgumentParser(prog="python -m tessera_kernel install", description="Makes the kernel known to Jupyter.")
    parser.add_argument("--compiler", help="the compiler of cells: g++ 12 or later, or clang 19")
    parser.add_argument("--prefix", help="the folder with Tessera's include/ and lib/; the default is the installed package")
    parser.add_argument("--include", help="the folder of the headers, if they are not in the prefix")
    parser.add_argument("--library", help="the shared library libtessera.so, if it is not in the prefix")
    parser.add_argument("--user", action="store_true", help="install for this user, and not into this environment of Python")
    parser.add_argument("--name", default="tessera", help="the name of the kernel")
    asked = parser.parse_args(arguments)
    from jupyter_client.kernelspec import KernelSpecManager
    toolchain = find(asked.compiler, asked.prefix, asked.include, asked.library)
    begin = time.monotonic()
    print(f"cells are compiled by {toolchain.compiler}, with {toolchain.library}", flush=True)
    toolchain.prepare()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder) / asked.name
        folder.mkdir()
        spec = {"argv": [sys.executable, "-m", "tessera_kernel", "-f", "{connection_file}", "--toolchain", "{resource_dir}/toolchain.json"],
                "display_name": "C++ (Tessera)", "language": "c++", "interrupt_mode": "signal"}
        (folder / "kernel.json").write_text(json.dumps(spec, indent=1) + "\n")
        toolchain.save(folder / "toolchain.json")
        where = KernelSpecManager().install_kernel_spec(str(folder), asked.name, user=asked.user, prefix=None if asked.user else sys.prefix)
    print(f"installed in {where}, in {time.monotonic() - begin:.0f} s; in Jupyter it is called C++ (Tessera)")


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["install"]:
        try:
            return install(arguments[1:])
        except SetupError as e:
            sys.exit(f"error: {e}")
    if "--toolchain" not in arguments:
        sys.exit(__doc__)
    at = arguments.index("--toolchain")
    from ipykernel.kernelapp import IPKernelApp

    from .kernel import TesseraKernel
    TesseraKernel.toolchain_file = arguments[at + 1]
    IPKernelApp.launch_instance(argv=arguments[:at] + arguments[at + 2:], kernel_class=TesseraKernel)


main()
