// Measures what a device of a mesh gets on this machine while all others do the same: latency and
// bandwidth along each axis, operations and memory. Writes the JSON that load_links reads.
//
//   calibrate_links data=2,model=4 links.json
//
// Chains of collectives over one axis are timed, without what else is in their programs, and the
// latency and the bandwidth are those under which the model of plans (src/spmd/links.h) is nearest
// to the times, relatively. With a third word it prints each of them.
//
// Under a launcher the devices are those of all its processes, and an axis along which neighbours
// are in different machines is measured over their network:
//
//   mpirun -n 4 calibrate_links machine=4,device=8 links.json
#include <tessera/tessera.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

namespace ts = tessera;
using ts::Array;

namespace {

constexpr int kChain = 16;

using Body = std::function<Array(Array)>;

double seconds(const std::function<void()>& run) {
  run();  // compiles
  double best = 1e9;
  const auto repeat = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const auto start = std::chrono::steady_clock::now();
      run();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count());
    }
  };
  repeat(5);
  // What communicates is called equally often in all processes: for 0.2 s where it takes longest.
  const double slowest = ts::max(ts::process_allgather(best)).item<double>();
  repeat(static_cast<int>(std::clamp(0.2 / slowest, 5.0, 200.0)) - 5);
  return best;
}

/// What a device has of `n` floats, all axes cutting it.
ts::PartitionSpec everywhere(const ts::Mesh& mesh) {
  return ts::PartitionSpec({ts::PartitionSpec::Dim(mesh.axis_names())});
}

double chain(const ts::Mesh& mesh, std::int64_t floats, const Body& link) {
  auto f = ts::shard_map(
      [&](Array x) {
        for (int i = 0; i < kChain; ++i) x = link(x);
        return x;
      },
      {.mesh = mesh, .in_specs = everywhere(mesh), .out_specs = everywhere(mesh)});
  const Array x = ts::device_put(ts::random::uniform(ts::random::key(0), {floats * mesh.size()}),
                                 mesh, everywhere(mesh));
  return seconds([&] { f(x).block_until_ready(); }) / kChain;
}

/// A time, as so many latencies and so many bytes.
struct Sample {
  std::string what;
  double latencies, bytes, seconds;
};

// Least squares of (a l + b / w - t) / t in l and 1 / w, neither below nothing.
ts::LinkSpeed fitted(const std::vector<Sample>& samples) {
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const Sample& s : samples) {
    const double a = s.latencies / s.seconds, b = s.bytes / s.seconds;
    aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
  }
  const double det = aa * bb - ab * ab;
  double latency = (a1 * bb - b1 * ab) / det, per_byte = (b1 * aa - a1 * ab) / det;
  if (latency < 0) latency = 0, per_byte = b1 / bb;
  if (per_byte <= 0) per_byte = 1e-15, latency = a1 / aa;
  return {latency, 1 / per_byte};
}

std::vector<Sample> samples_of(const ts::Mesh& mesh, const std::string& axis) {
  const std::int64_t n = mesh.size(axis);
  const auto members = static_cast<double>(n);
  const double waits = std::ceil(std::log2(members)), share = (members - 1) / members;
  std::vector<Sample> samples;
  for (std::int64_t floats = 1024; floats <= std::int64_t{1} << 19; floats *= 8) {
    const auto bytes = static_cast<double>(4 * floats);
    const double plain = chain(mesh, floats, [](Array x) { return x + 1e-3f * (x * 0.5f); });
    const auto add = [&](const char* op, double latencies, double moved, double time) {
      samples.push_back({std::string(op) + " of " + std::to_string(4 * floats) + " B", latencies,
                         moved, std::max(time, 1e-8)});
    };
    add("psum", 2 * waits, 2 * bytes * share,
        chain(mesh, floats, [&](Array x) { return x + 1e-3f * ts::psum(x, axis); }) - plain);
    ts::Permutation ring;
    for (std::int64_t i = 0; i < n; ++i) ring.emplace_back(i, (i + 1) % n);
    add("ppermute", 1, bytes,
        chain(mesh, floats, [&](Array x) { return ts::ppermute(x, axis, ring); }));
    add("all_to_all", waits, bytes * share, chain(mesh, floats, [&](Array x) {
          return ts::all_to_all(x.reshape(n, floats / n), axis, 0, 0, {.tiled = true})
              .reshape(floats);
        }));
  }
  return samples;
}

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
  if (count < 3) {
    std::fprintf(stderr, "usage: calibrate_links AXIS=SIZE,... FILE [samples]\n");
    return 2;
  }
  const ts::Mesh mesh = mesh_of(words[1]);
  const bool tells = ts::process_index() == 0;
  std::ostringstream json;
  json.precision(4);
  json << "{\n  \"mesh\": \"" << mesh << "\",\n  \"links\": {";
  const char* separator = "\n";
  for (const ts::Mesh::Axis& axis : mesh.axes()) {
    if (axis.size == 1) continue;
    const std::vector<Sample> samples = samples_of(mesh, axis.name);
    const ts::LinkSpeed link = fitted(samples);
    json << separator << "    \"" << axis.name << "\": {\"latency\": " << link.latency
         << ", \"bandwidth\": " << link.bandwidth << "}";
    separator = ",\n";
    if (!tells) continue;
    std::printf("%-12s latency %.2f us, bandwidth %.2f GB/s\n", axis.name.c_str(),
                1e6 * link.latency, 1e-9 * link.bandwidth);
    if (count > 3)
      for (const Sample& s : samples)
        std::printf("  %-26s %10.2f us, by the model %10.2f us\n", s.what.c_str(), 1e6 * s.seconds,
                    1e6 * (s.latencies * link.latency + s.bytes / link.bandwidth));
  }
  // A product of its own for each device, and a pass over its own memory.
  const std::int64_t n = 512;
  const auto rows = everywhere(mesh);
  auto product = ts::shard_map([](Array a) { return ts::dot(a, ts::transpose(a) * 0.5f); },
                               {.mesh = mesh, .in_specs = rows, .out_specs = rows});
  const Array a =
      ts::device_put(ts::random::uniform(ts::random::key(1), {n * mesh.size(), n}), mesh, rows);
  const double flops =
      2.0 * static_cast<double>(n * n * n) / seconds([&] { product(a).block_until_ready(); });
  auto pass = ts::shard_map([](Array x) { return x * 0.5f; },
                            {.mesh = mesh, .in_specs = rows, .out_specs = rows});
  const std::int64_t floats = std::int64_t{1} << 22;
  const Array x = ts::device_put(ts::ones({floats * mesh.size()}), mesh, rows);
  const double memory =
      8.0 * static_cast<double>(floats) / seconds([&] { pass(x).block_until_ready(); });
  if (!tells) return 0;
  std::printf("%-12s %.2f Gflop/s, memory %.2f GB/s\n", "a device", 1e-9 * flops, 1e-9 * memory);
  json << "\n  },\n  \"peak_flops\": " << flops << ",\n  \"memory_bandwidth\": " << memory
       << "\n}\n";
  std::ofstream file(words[2]);
  file << json.str();
  if (!file.flush()) {
    std::fprintf(stderr, "calibrate_links: '%s' cannot be written\n", words[2]);
    return 1;
  }
}
