// Writes what a version leaves for the tests of later ones: write_stability FOLDER. README.md beside
// this file says when.
#include "stability/contents.h"

#include <cstdio>
#include <filesystem>
#include <string>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_stability FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder);
  for (const auto& [name, x] : stability::arrays()) {
    if (x.dtype() != tessera::bf16)  // NumPy has no name for it
      tessera::save_npy(folder + "/" + name + ".npy", x);
  }
  std::map<std::string, tessera::Array> arrays = stability::arrays();
  tessera::save_safetensors(folder + "/arrays.safetensors", {arrays, stability::kMetadata});
  arrays.erase("bfloat16");
  tessera::save_npz(folder + "/arrays.npz", arrays);
  tessera::checkpoint::save(folder + "/checkpoint", stability::kStep, stability::state(),
                            {.metrics = stability::kMetrics, .metadata = stability::kMetadata});
  for (const stability::Module& module : stability::modules())
    module.write(folder + "/" + module.name + ".mlir");
} catch (const tessera::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
