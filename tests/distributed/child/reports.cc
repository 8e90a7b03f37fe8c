// The reports of a process about itself and about the job.
#include "child.h"

#include <link.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

namespace child {
namespace {

// Prints what plans know about processes and machines, and the measurements of a job.
void explain() {
  const ts::Mesh mesh({{"data", 4}, {"model", 2}});
  const auto f = ts::jit([](Array x, Array w) { return ts::sum(ts::matmul(x, w)); },
                         {.mesh = mesh, .in_shardings = {P("data", "model"), P("model")}});
  const ts::Plan plan =
      f.explain(ts::abstract(ts::f32, {4096, 512}), ts::abstract(ts::f32, {512, 256}));
  const std::string text = to_string(plan);
  if (ts::process_index() != 0) return;
  const std::size_t begin = text.find("  communication");
  std::printf("%s", text.substr(begin, text.find("\n\n", begin) + 1 - begin).c_str());
  for (const ts::PlannedAxis& a : plan.axes)
    std::printf("%s: %d processes, %d machines, %g s, %g B/s\n", a.name.c_str(),
                static_cast<int>(a.processes), static_cast<int>(a.machines), a.link.latency,
                a.link.bandwidth);
}

void calibrate() {
  const ts::PlanOptions speeds = ts::calibrate_links(ts::Mesh({{"data", 4}, {"model", 2}}));
  std::printf("process %d:", ts::process_index());
  for (const auto& [axis, link] : speeds.links)
    std::printf(" %s %a %a", axis.c_str(), link.latency, link.bandwidth);
  std::printf(" %a %a\n", speeds.peak_flops, speeds.memory_bandwidth);
}

void table() {
  std::setvbuf(stdout, nullptr, _IOFBF,
               1 << 16);  // in one write: a launcher mixes the lines of processes
  const Array x = ts::device_put(ts::zeros({8, 1024}), ts::Mesh({{"i", 8}}), P("i"));
  std::printf("%s", ts::memory_table().c_str());
}

// Prints the parts of MPI that are loaded once the process has computed something.
void loaded() {
  const Array x = ts::jit([](Array v) { return ts::sin(v) * 2; })(rows());
  const Array y = ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"})(x);
  y.block_until_ready();
  std::set<std::string> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        const std::string name = std::filesystem::path(info->dlpi_name).filename();
        if (name.starts_with("libmpi") || name.starts_with("libtessera_mpi"))
          static_cast<std::set<std::string>*>(to)->insert(name.substr(0, name.find('.')));
        return 0;
      },
      &found);
  std::string text = "process " + std::to_string(ts::process_index()) + " of " +
                     std::to_string(ts::process_count()) + ":";
  for (const std::string& name : found) text += " " + name;
  std::puts(text.c_str());
}

void count() {
  std::printf("process %d of %d: devices %s, %d of them mine %s\n", ts::process_index(),
              ts::process_count(), std::to_string(ts::devices().size()).c_str(),
              static_cast<int>(ts::local_device_count()),
              (std::ostringstream() << ts::local_devices()).str().c_str());
}

}  // namespace

Modes reports_modes() {
  return {{"count", count},
          {"loaded", loaded},
          {"explain", explain},
          {"calibrate", calibrate},
          {"table", table}};
}

}  // namespace child
