// Measures the speed of a mesh's links with chains of collectives over one axis. The arithmetic
// between all-reduces is timed separately and subtracted.
#include <tessera/collectives.h>
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/distributed.h>
#include <tessera/functional.h>
#include <tessera/manipulation.h>
#include <tessera/message.h>
#include <tessera/plan.h>
#include <tessera/random.h>
#include <tessera/shard_map.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

namespace tessera::inline v0 {
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
  // All processes must call collectives equally often, so the slowest process determines the number
  // of calls (about 0.2 s).
  const double slowest = max(process_allgather(best)).item<double>();
  repeat(static_cast<int>(std::clamp(0.2 / slowest, 5.0, 200.0)) - 5);
  return max(process_allgather(best)).item<double>();
}

/// A spec whose first dimension is partitioned over all mesh axes.
PartitionSpec everywhere(const Mesh& mesh) {
  return PartitionSpec({PartitionSpec::Dim(mesh.axis_names())});
}

double chain(const Mesh& mesh, std::int64_t floats, const Body& link) {
  auto f = shard_map(
      [&](Array x) {
        for (int i = 0; i < kChain; ++i) x = link(x);
        return x;
      },
      {.mesh = mesh, .in_specs = everywhere(mesh), .out_specs = everywhere(mesh)});
  const Array x =
      device_put(random::uniform(random::key(0), {floats * mesh.size()}), mesh, everywhere(mesh));
  return seconds([&] { f(x).block_until_ready(); }) / kChain;
}

/// A measured time, with the number of latencies and bytes that it consists of.
struct Sample {
  std::string what;
  double latencies, bytes, seconds;
};

// Least-squares fit of the relative error (a l + b / w - t) / t in l and 1 / w, both non-negative.
LinkSpeed fitted(const std::vector<Sample>& samples) {
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

std::vector<Sample> samples_of(const Mesh& mesh, const std::string& axis) {
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
        chain(mesh, floats, [&](Array x) { return x + 1e-3f * psum(x, axis); }) - plain);
    Permutation ring;
    for (std::int64_t i = 0; i < n; ++i) ring.emplace_back(i, (i + 1) % n);
    add("ppermute", 1, bytes,
        chain(mesh, floats, [&](Array x) { return ppermute(x, axis, ring); }));
    add("all_to_all", waits, bytes * share, chain(mesh, floats, [&](Array x) {
          return all_to_all(x.reshape(n, floats / n), axis, 0, 0, {.tiled = true}).reshape(floats);
        }));
  }
  return samples;
}

}  // namespace

PlanOptions calibrate_links(const Mesh& mesh, std::source_location loc) {
  const InFunction called("calibrate_links", loc);
  if (mesh.empty() || mesh.is_abstract())
    Message("calibrate_links")
        .problem(mesh.empty() ? "the mesh has no devices"
                              : "the mesh " + to_string(mesh) + " is abstract")
        .rule("what is measured are devices that are there")
        .from(loc)
        .advice("a Mesh of devices()")
        .raise<DeviceError>();
  PlanOptions speeds;
  for (const Mesh::Axis& axis : mesh.axes())
    if (axis.size > 1) speeds.links[axis.name] = fitted(samples_of(mesh, axis.name));
  // A separate product on each device, and a pass over its memory.
  const std::int64_t n = 512;
  const PartitionSpec rows = everywhere(mesh);
  const auto product = shard_map([](Array a) { return dot(a, transpose(a) * 0.5f); },
                                 {.mesh = mesh, .in_specs = rows, .out_specs = rows});
  const Array a = device_put(random::uniform(random::key(1), {n * mesh.size(), n}), mesh, rows);
  speeds.peak_flops =
      2.0 * static_cast<double>(n * n * n) / seconds([&] { product(a).block_until_ready(); });
  const auto pass = shard_map([](Array x) { return x * 0.5f; },
                              {.mesh = mesh, .in_specs = rows, .out_specs = rows});
  const std::int64_t floats = std::int64_t{1} << 22;
  const Array x = device_put(ones({floats * mesh.size()}), mesh, rows);
  speeds.memory_bandwidth =
      8.0 * static_cast<double>(floats) / seconds([&] { pass(x).block_until_ready(); });
  return speeds;
}

}  // namespace tessera::inline v0
