// The program that processes_test.cc and faults_test.cc start in one process and in several: child
// MODE.
#include "child.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>

namespace child {

void show(const std::string& name, const Array& x) {
  const Array whole = x.sharding().devices().size() > 1 ? ts::process_allgather(x) : x;
  if (ts::process_index() != 0) return;
  std::printf("%s %s", name.c_str(), to_string(whole.shape()).c_str());
  for (const float v : whole.astype(ts::f32).to_vector<float>()) {
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    std::printf(" %08x", bits);
  }
  std::printf("\n");
}

Array draw(std::int64_t seed, const ts::Shape& shape) {
  return ts::random::normal(ts::random::key(seed), shape);
}

const Array& rows() {
  static const Array all = ts::ones({kDevices, 4});
  return all;
}

std::vector<ts::Device> devices_of(const std::vector<int>& ids) {
  std::vector<ts::Device> all;
  for (const int id : ids) all.push_back({id});
  return all;
}

void show_large(const std::string& name, const Array& x) {
  const Array whole = x.sharding().devices().size() > 1 ? ts::process_allgather(x) : x;
  if (ts::process_index() != 0) return;
  std::uint64_t h = 14695981039346656037u;
  for (const float v : whole.astype(ts::f32).to_vector<float>()) {
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    h = (h ^ bits) * 1099511628211u;
  }
  std::printf("%s %s %016llx\n", name.c_str(), to_string(whole.shape()).c_str(),
              static_cast<unsigned long long>(h));
}

Array mean(const Array& x) {
  return ts::pmap([](Array v) { return ts::pmean(v, "i"); }, {.axis_name = "i"})(x);
}

Array sum(const Array& x) {
  return ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"})(x);
}

namespace {

Modes all_modes() {
  Modes all;
  for (const auto& some : {collectives_modes, arrays_modes, training_modes, threads_modes,
                           reports_modes, faults_modes, agreement_modes})
    all.merge(some());
  return all;
}

}  // namespace

}  // namespace child

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  if (const child::Modes early = child::early_modes(); early.count(argv[1])) {
    early.at(argv[1])();
    return 0;
  }
  const child::Modes modes = child::all_modes();
  if (!modes.count(argv[1])) return 2;
  // The timeout is a second only if it must run out: a busy machine takes longer to reach a
  // collective.
  const std::string mode = argv[1];
  tessera::distributed::initialize({.timeout = mode == "hang" || mode == "finish_late" ? 1.0 : 60.0,
                                    .several_threads = mode.ends_with("threads")});
  tessera::set_device_count(mode == "sums" ? child::kManyDevices : child::kDevices);
  modes.at(argv[1])();
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "process %d: %s\n", tessera::process_index(), e.what());
  return 1;
}
