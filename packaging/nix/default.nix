# A Nix derivation of Tessera: nix-build packaging/nix
#
# Tried: nix-instantiate --parse with Nix 2.8, which reads the file.
# Not tried: a build, because nixpkgs was not at hand. The names of packages are unconfirmed, and so is whether each of them has the
# pkg-config file that CMake looks for.
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "tessera";
  version = "0.1.0";
  src = pkgs.lib.cleanSource ../..;
  nativeBuildInputs = with pkgs; [ cmake ninja pkg-config ];
  buildInputs = with pkgs; [
    dlpack
    fmt
    libzip
    nlohmann_json
    oneDNN
    openblas
    sleef
    tbb
    xxHash
    zlib
  ];
  cmakeFlags = [
    "-DBUILD_SHARED_LIBS=ON"
    "-DTESSERA_BUILD_TESTS=OFF"
    "-DTESSERA_BUILD_EXAMPLES=OFF"
    "-DTESSERA_UNITY=ON"
    "-DTESSERA_LLVM_INCLUDE=${pkgs.llvmPackages_19.libllvm.dev}/include"
    "-DTESSERA_LLVM_LIBRARY=${pkgs.llvmPackages_19.libllvm.lib}/lib/libLLVM.so"
  ];
  meta = {
    description = "Array programs on many devices: grad, vmap, jit and pmap for C++ structs";
    license = pkgs.lib.licenses.asl20;
    platforms = [ "x86_64-linux" ];
  };
}
