// Pipelines over a mesh axis: timelines, the same training in five ways, and memory.
#include "cells.h"
#include "common/command_line.h"
#include "common/outputs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

using namespace pipeline_example;

namespace {

constexpr std::int64_t kMicrobatches = 8;

void section(const char* title) { std::cout << "\n== " << title << "\n"; }

void show_timelines(const Mesh& grid, const std::string& folder) {
  section("Timelines");
  for (Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
    const auto timeline = ts::pipeline_schedule(grid.size("stage"), kMicrobatches, schedule);
    std::cout << timeline << "microbatches in flight:";
    for (std::int64_t stage = 0; stage < timeline.stages; ++stage)
      std::cout << " " << timeline.in_flight(stage);
    std::cout << "\n\n";
    const std::string path = folder + (schedule == Schedule::gpipe ? "/gpipe" : "/1f1b");
    std::ofstream(path + ".txt") << timeline;
    std::ofstream(path + ".svg") << ts::schedule_svg(timeline);
  }
  std::cout << "Drawn in " << folder << "\n";
}

void show_bubbles(const Mesh& grid) {
  section("Bubbles");
  for (std::int64_t m : {1, 4, 8, 16, 32, 64}) {
    const auto timeline = ts::pipeline_schedule(grid.size("stage"), m, Schedule::one_f_one_b);
    std::printf("%2d microbatches: %5.1f%% idle\n", static_cast<int>(m), 100 * timeline.bubble());
  }
  std::fflush(stdout);
}

void show_training(const Meshes& meshes) {
  section("The same training");
  std::cout << "data parallel on " << meshes.line << ", pipelines on " << meshes.grid << "\n";
  std::vector<Run> runs;
  std::cout << std::flush;
  std::printf("step");
  for (const Way& way : ways(meshes, kMicrobatches)) {
    runs.push_back(train(way));
    std::printf("%18s", way.name.c_str());
  }
  double worst = 0;
  for (std::size_t step = 0; step < runs[0].losses.size(); ++step) {
    std::printf("\n%4d", static_cast<int>(step));
    for (const Run& run : runs) {
      std::printf("%18.6f", static_cast<double>(run.losses[step]));
      worst =
          std::max(worst, static_cast<double>(std::abs(run.losses[step] - runs[0].losses[step])));
    }
  }
  std::printf("\nAll losses within 1e-5 of those on one device: %s\n", worst < 1e-5 ? "yes" : "no");
  std::fflush(stdout);
}

void show_memory(const Mesh& grid) {
  section("Memory for gradients, microbatches of one size");
  for (const Memory& m : memory_by_microbatches(grid))
    std::cout << "temporaries of " << m.microbatches << " microbatches: 1F1B " << m.one_f_one_b
              << ", GPipe " << m.gpipe << ", grad of pipeline " << m.gradient << ", checkpointed "
              << m.checkpointed << " bytes\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Pipelines over a mesh axis"};
  int devices = 8;
  std::string folder = "runs/pipeline";
  add_devices(app, devices, 8, "virtual devices: 4 stages of them, the rest data-parallel")
      ->check(CLI::IsMember({1, 2, 4, 8}));
  app.add_option("--save", folder, "folder for the drawings")->capture_default_str();
  return run_example(app, argc, argv, [&] {
    // A folder that cannot be written is found before everything else, not at the end.
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed || !std::ofstream(folder + "/1f1b.svg", std::ios::app))
      return refuse("cannot write drawings to the folder \"" + folder + "\"" +
                    (failed ? ": " + failed.message() : "") + "; name another with --save");
    use_devices(devices);
    leave_reports_to_the_first();
    const Meshes meshes = make_meshes();
    show_timelines(meshes.grid, folder);
    show_bubbles(meshes.grid);
    show_training(meshes);
    show_memory(meshes.grid);
    return 0;
  });
}
