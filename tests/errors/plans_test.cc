// Programs that cannot be planned, and programs that can only be planned, not run.
#include "misuse.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace {

struct File {
  explicit File(const char* text) { std::ofstream(name) << text; }
  ~File() { std::remove(name); }
  static constexpr const char* name = "misuse_links.json";
};

}  // namespace

MISUSE(memory_of_a_program_for_an_abstract_mesh) {
  auto f = ts::jit([](Array x) { return x * 2; }, {.mesh = ts::Mesh::abstract({{"x", 64}})});
  (void)f.lower(ts::ones({64})).memory();
}
MISUSE(compile_for_an_abstract_mesh) {
  auto f = ts::jit([](Array x) { return x * 2; }, {.mesh = ts::Mesh::abstract({{"x", 64}})});
  (void)f.lower(ts::ones({64})).compile();
}
MISUSE(calibrate_links_of_an_abstract_mesh) {
  ts::calibrate_links(ts::Mesh::abstract({{"data", 64}}));
}
MISUSE(plan_at_speeds_that_are_none) {
  (void)ts::jit([](Array x) { return x; })
      .lower(ts::ones({4}))
      .plan({.links = {{"data", {-1, 1e9}}}, .other_links = {0, 0}, .peak_flops = 0});
}
MISUSE(calibrate_links_of_no_mesh) { ts::calibrate_links(ts::Mesh()); }
MISUSE(load_links_of_no_file) { ts::load_links("no_such_links.json"); }
MISUSE(load_links_of_something_else) {
  const File file("{\"data\": 1}");
  ts::load_links(file.name);
}
MISUSE(load_links_without_a_bandwidth) {
  const File file("{\"links\": {\"data\": {\"latency\": 1e-6}}}");
  ts::load_links(file.name);
}
MISUSE(load_links_of_a_link_that_is_no_link) {
  const File file("{\"links\": {\"data\": {\"latency\": 1e-6, \"bandwidth\": 0}}}");
  ts::load_links(file.name);
}
MISUSE(plan_of_more_devices_than_are_planned) {
  ts::jit([](Array x) { return x * 2; },
          {.mesh = ts::Mesh::abstract({{"data", 1 << 20}, {"model", 1 << 10}}),
           .in_shardings = ts::P("data")})
      .explain(ts::abstract(ts::f32, {1 << 20}));
}
MISUSE(load_links_of_an_axis_twice) {
  const File file(
      "{\"links\": {\"data\": {\"latency\": 1e-6, \"bandwidth\": 1e9}, "
      "\"data\": {\"latency\": 1e-6, \"bandwidth\": 1e10}}}");
  ts::load_links(file.name);
}
MISUSE(jit_with_links_of_another_mesh) {
  ts::jit([](Array x) { return x; }, {.mesh = ts::Mesh::abstract({{"data", 2}, {"model", 2}}),
                                      .links = {{"dat", {1e-6, 1e9}}}})
      .lower(ts::abstract(ts::f32, {4}));
}
MISUSE(jit_with_links_and_no_mesh) {
  ts::jit([](Array x) { return x; }, {.links = {{"data", {1e-6, 1e9}}}});
}
MISUSE(jit_with_a_link_of_no_bandwidth) {
  ts::jit([](Array x) { return x; },
          {.mesh = ts::Mesh::abstract({{"data", 2}}), .links = {{"data", {1e-6, 0}}}})
      .lower(ts::abstract(ts::f32, {4}));
}
MISUSE(save_html_where_there_is_a_folder) {
  ts::save_html(ts::jit([](Array x) { return x; }).explain(ts::ones({2})), "/");
}
