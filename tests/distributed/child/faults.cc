// Deviations of one process from the others. All of them print the error that they get.
#include "child.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace child {
namespace {

void differ() {
  show("before", sum(rows()));
  (ts::process_index() == 1 ? mean(rows()) : sum(rows() * 2)).block_until_ready();
}

// A body that differs in one process in one equation, in an argument's shape, or in a parameter.
void differ_within() {
  const bool odd = ts::process_index() == ts::process_count() - 1;
  const auto f = ts::pmap(
      [&](Array v) {
        const Array u = ts::exp(v);
        const Array w = odd ? ts::sin(u)   // on a line of its own
                            : ts::cos(u);  // and this
        return ts::psum(w * w, "i");
      },
      {.axis_name = "i"});
  f(rows()).block_until_ready();
}

void differ_in_shapes() {
  const Array x = ts::ones({kDevices, 4 + ts::process_index()});
  sum(x).block_until_ready();
}

void differ_in_loops() {
  const int turns = 3 + ts::process_index();
  const auto f = ts::pmap(
      [&](Array v) {
        return ts::fori_loop(
            0, turns, [](Array, Array c) { return c + ts::pmean(c, "i"); }, v);
      },
      {.axis_name = "i"});
  f(rows()).block_until_ready();
}

// One process sends, and does not read the other's data.
void differ_one_way_and_end() {
  const auto f = ts::pmap(
      [&](Array v) {
        if (ts::process_index() == 1) v = v * 3;
        return ts::ppermute(v, "i", {{7, 0}});
      },
      {.axis_name = "i"});
  f(rows()).block_until_ready();
}

void differ_one_way() {
  differ_one_way_and_end();
  sum(rows()).block_until_ready();
}

// Only one process catches the exception and continues with the next call.
void go_on_alone() {
  show("before", sum(rows()));
  try {
    if (ts::process_index() == 1) throw std::runtime_error("no such file");
    sum(rows()).block_until_ready();
  } catch (const std::runtime_error& e) {
    if (ts::process_index() != 1) throw;
  }
  mean(rows()).block_until_ready();
}

void exhaust() {
  show("before", sum(rows()));
  if (ts::process_index() == 1) (void)ts::zeros({std::int64_t{1} << 50}).block_until_ready();
  sum(rows()).block_until_ready();
}

// A file that ends within its header, which one process reads.
void bad_file() {
  show("before", sum(rows()));
  const std::string path =
      std::filesystem::temp_directory_path() / ("tessera_bad_" + std::to_string(::getpid()));
  if (ts::process_index() == 1) {
    ts::save_safetensors(path, {{{"w", rows()}}, {}});
    std::filesystem::resize_file(path, 40);
    const struct Removed {
      std::string path;
      ~Removed() { std::filesystem::remove(path); }
    } removed{path};
    (void)ts::load_safetensors(path);
  }
  sum(rows()).block_until_ready();
}

void leave() {
  show("before", sum(rows()));
  if (ts::process_index() != 1) sum(rows()).block_until_ready();
}

void die() {
  show("before", sum(rows()));
  if (ts::process_index() == 1) ::raise(SIGKILL);
  sum(rows()).block_until_ready();
}

void hang() {
  show("before", sum(rows()));
  if (ts::process_index() == 1) ::pause();
  sum(rows()).block_until_ready();
}

// Work that takes longer than the timeout and concerns no other process, such as writing a file.
void finish_late() {
  show("before", sum(rows()));
  if (ts::process_index() != 0) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  while (std::chrono::steady_clock::now() < end) (void)ts::ones({64}).block_until_ready();
  std::printf("written\n");
}

void give_up() {
  show("before", sum(rows()));
  if (ts::process_index() == 1) throw std::runtime_error("no such file");
  sum(rows()).block_until_ready();
}

void gather_other_shapes() { (void)ts::process_allgather(ts::ones({3 + ts::process_index()})); }

void come_to_other_calls() {
  if (ts::process_index() == 0)
    ts::distributed::barrier();
  else
    (void)ts::process_allgather(ts::ones({3}));
}

void read_others() {
  const Array x = ts::device_put(draw(0, {8, 2}), ts::Mesh({{"i", 8}}), P("i"));
  (void)x.to_vector<float>();
}

void place_on_others() { (void)ts::device_put(rows(), ts::Device{7 - 4 * ts::process_index()}); }

}  // namespace

Modes faults_modes() {
  return {{"finish_late", finish_late},
          {"differ", differ},
          {"differ_within", differ_within},
          {"differ_in_shapes", differ_in_shapes},
          {"differ_in_loops", differ_in_loops},
          {"differ_one_way", differ_one_way},
          {"differ_one_way_and_end", differ_one_way_and_end},
          {"go_on_alone", go_on_alone},
          {"exhaust", exhaust},
          {"bad_file", bad_file},
          {"leave", leave},
          {"die", die},
          {"hang", hang},
          {"give_up", give_up},
          {"read", read_others},
          {"other_shapes", gather_other_shapes},
          {"other_calls", come_to_other_calls},
          {"place", place_on_others}};
}

}  // namespace child
