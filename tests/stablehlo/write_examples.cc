// WRITE_EXAMPLES DIR [PLATFORM]: the examples of all ops that the platform (cpu) has, and programs as
// users write them, as modules with inputs and what we compute: what tests/stablehlo/xla.py gives
// XLA.
#include "stablehlo/roundtrip.h"

#include "ops/registry_values.h"
#include "ops/registry_walk.h"
#include "stablehlo/emit/emission.h"
#include "stablehlo/whole_programs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace {

using namespace tessera;

std::filesystem::path folder;
std::size_t written = 0;

void put(const std::string& name, const void* bytes, std::size_t size) {
  std::ofstream(folder / name, std::ios::binary)
      .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
}
void put(const std::string& name, const HostArray& a) {
  put(name, a.bytes, static_cast<std::size_t>(a.size_bytes()));
}
void put(const std::string& name, const std::string& text) { put(name, text.data(), text.size()); }

void write_ops(const stablehlo::Target& target) {
  walk::Random random(11);
  for (const auto& op : Registry::get().all()) {
    const stablehlo::Emission* e = stablehlo::emission_of(*op);
    if ((e && e->never) || op->lowering == Lowering::collective || op->name == "pvary") continue;
    if (target.find(*op) == nullptr && stablehlo::default_target().find(*op) != nullptr) continue;
    int k = 0;
    for (const OpExample& example : op->examples()) {
      const std::string name = op->name + "." + std::to_string(k++);
      const ProgramPtr p = walk::program_of(*op, example);
      put(name + ".mlir", roundtrip::text_of(*p, target));
      walk::Arrays in;
      for (const Type& t : example.inputs)
        in.push_back(walk::draw(t, random, example.lo, example.hi, example.int_lo, example.int_hi));
      const walk::Arrays out = evaluate(*p, in);
      for (std::size_t i = 0; i < in.size(); ++i) put(name + ".in" + std::to_string(i), in[i]);
      for (std::size_t i = 0; i < out.size(); ++i) put(name + ".out" + std::to_string(i), out[i]);
      ++written;
    }
  }
}

void write_programs(const std::string& platform) {
  for (const whole::Case& c : whole::cases({.platform = platform})) {
    put("whole_" + c.name + ".mlir", c.text);
    for (std::size_t i = 0; i < c.in.size(); ++i)
      put("whole_" + c.name + ".in" + std::to_string(i), c.in[i]);
    for (std::size_t i = 0; i < c.out.size(); ++i)
      put("whole_" + c.name + ".out" + std::to_string(i), c.out[i]);
    ++written;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return 2;
  const std::string platform = argc == 3 ? argv[2] : "cpu";
  const stablehlo::Target* target = stablehlo::find_target(platform);
  if (!target) return 2;
  setenv("TESSERA_DEVICES", "8", false);
  folder = argv[1];
  std::filesystem::create_directories(folder);
  write_ops(*target);
  write_programs(platform);
  std::cout << written << " modules\n";
}
