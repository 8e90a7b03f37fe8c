// Measures the performance of one device of a mesh on this machine while all other devices do the
// same: latency and bandwidth along each axis, arithmetic and memory. Writes the JSON that
// load_links reads.
//
//   calibrate_links data=2,model=4 links.json
//
// Under a launcher the devices are those of all its processes, and an axis whose neighbours are in
// different machines is measured over their network:
//
//   mpirun -n 4 calibrate_links machine=4,device=8 links.json
#include <tessera/tessera.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ts = tessera;

namespace {

ts::Mesh mesh_of(const std::string& text) {
  std::vector<ts::Mesh::Axis> axes;
  std::istringstream words(text);
  std::int64_t devices = 1;
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t equals = word.find('=');
    const long long size = equals == std::string::npos ? 0 : std::atoll(word.c_str() + equals + 1);
    if (equals == 0 || size < 1) {
      std::fprintf(stderr, "calibrate_links: '%s' is no axis=size\n", word.c_str());
      std::exit(2);
    }
    axes.push_back({word.substr(0, equals), size});
    devices *= size;
  }
  ts::set_device_count(static_cast<int>(devices));
  return ts::Mesh(axes);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: calibrate_links AXIS=SIZE,... FILE\n");
    return 2;
  }
  const ts::Mesh mesh = mesh_of(words[1]);
  const ts::PlanOptions speeds = ts::calibrate_links(mesh);
  if (ts::process_index() != 0) return 0;
  std::ostringstream json;
  json.precision(4);
  json << "{\n  \"mesh\": \"" << mesh << "\",\n  \"links\": {";
  const char* separator = "\n";
  for (const auto& [axis, link] : speeds.links) {
    json << separator << "    \"" << axis << "\": {\"latency\": " << link.latency
         << ", \"bandwidth\": " << link.bandwidth << "}";
    separator = ",\n";
    std::printf("%-12s latency %.2f us, bandwidth %.2f GB/s\n", axis.c_str(), 1e6 * link.latency,
                1e-9 * link.bandwidth);
  }
  std::printf("%-12s %.2f Gflop/s, memory %.2f GB/s\n", "a device", 1e-9 * speeds.peak_flops,
              1e-9 * speeds.memory_bandwidth);
  json << "\n  },\n  \"peak_flops\": " << speeds.peak_flops
       << ",\n  \"memory_bandwidth\": " << speeds.memory_bandwidth << "\n}\n";
  std::ofstream file(words[2]);
  file << json.str();
  if (!file.flush()) {
    std::fprintf(stderr, "calibrate_links: '%s' cannot be written\n", words[2]);
    return 1;
  }
}
