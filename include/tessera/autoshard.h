// autoshard: how the arguments and results of a function are best cut over a mesh.
//
//   auto best = ts::autoshard(train_step, {.mesh = mesh, .memory_limit = 80e9})(model, x, y);
//   std::cout << best;                                          // what was found, beside templates
//   auto step = ts::jit(train_step, best.options());
//
// Only specs are chosen. Propagation and partitioning do the rest, as they do for specs that
// somebody wrote, so the values are those of the function in any case; and a choice is judged by
// the very program that jit makes of it, by the seconds of its plan (tessera/plan.h). Nothing is
// computed: arguments and the mesh may be abstract.
#pragma once

#include <tessera/jit.h>
#include <tessera/plan.h>

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

struct AutoshardOptions {
  /// By default that of the scope (use_mesh).
  Mesh mesh = {};
  /// Bytes that a device has for arguments, results and temporaries (Plan::peak_bytes); 0: no
  /// limit.
  std::int64_t memory_limit = 0;
  /// What is settled: arguments that have a spec here keep it. A prefix of their tree, as of jit.
  SpecTree in_shardings = unconstrained;
  /// Speeds of the devices and of the links between them.
  PlanOptions plan = {};
  /// How many choices are judged at most; 0: from 160 to 4096, the more the smaller the program is.
  /// Where there are no more in all, the best is found for certain.
  int evaluations = 0;
  /// When the search ends at the latest, with the best so far. The result is the same every time
  /// as long as the number above ends it first.
  double seconds = 300;
  /// For errors and reports; the line of the call when empty.
  std::string name = {};
};

/// One choice for all arguments, as anybody would write it down first.
struct AutoshardTemplate {
  std::string name;  // "data parallel over 'data', 'model'"
  double seconds = 0;
  /// Of arguments, results and temporaries; the last by when values are needed, before they are
  /// packed.
  std::int64_t peak_bytes = 0;
  bool fits = true;  // the memory limit
  bool operator==(const AutoshardTemplate&) const = default;
};

/// Arguments that are cut alike: those of repeated layers, and what is kept beside parameters.
struct AutoshardGroup {
  std::string name;  // "args[0]/layers/*/w"
  std::string type;  // of one: "f32[16,32]"
  std::string spec;  // "P(none, 'model')"
  std::size_t arguments = 1;
  std::int64_t bytes = 0;  // of a device's parts, all together
  bool operator==(const AutoshardGroup&) const = default;
};

struct AutoShardings {
  std::string name;
  Mesh mesh;
  /// For JitOptions. Results that carry state (of the path and shape of an argument, as a training
  /// step's) lie as that argument does; the others are unconstrained.
  SpecTree in_shardings = unconstrained, out_shardings = unconstrained;
  /// By axis, where the options' plan has any: the partitioner heeds them.
  std::map<std::string, LinkSpeed> links = {};

  /// Of the plan of a jit with these shardings.
  double seconds = 0;
  std::int64_t argument_bytes = 0, result_bytes = 0, temporary_bytes = 0;
  std::int64_t peak_bytes() const { return argument_bytes + result_bytes + temporary_bytes; }
  std::int64_t memory_limit = 0;

  std::vector<AutoshardGroup> groups;
  std::vector<AutoshardTemplate> templates;
  double choices = 1;         // that there are
  int evaluations = 0;        // choices that were judged
  bool exhaustive = false;    // all of them
  int repeats = 0;            // of layers that were judged by fewer of them; 0: by all
  double search_seconds = 0;  // by the clock

  /// {.mesh = mesh, .in_shardings = in_shardings, .out_shardings = out_shardings, .links = links}
  TESSERA_API JitOptions options() const;
};

/// A table: what was found, the templates beside it, and the arguments.
TESSERA_API std::string to_string(const AutoShardings& found);
TESSERA_API std::ostream& operator<<(std::ostream& out, const AutoShardings& found);

namespace detail {
TESSERA_API AutoShardings autoshard(Call& call, const AutoshardOptions& options,
                                    std::source_location loc);
}

/// A function whose arguments are yet to be cut: call it with them.
template <class F>
class Autoshard {
 public:
  Autoshard(F f, AutoshardOptions options, std::source_location loc)
      : f_(std::make_shared<F>(std::move(f))), options_(std::move(options)), made_(loc) {}

  /// The function is traced once. ShardingError where nothing that was found fits the memory limit:
  /// it says the least found, and what takes the most of it.
  template <class... A>
  AutoShardings operator()(A&&... args) const {
    TESSERA_CHECK_CALL_(F, A);
    return detail::with_call(
        detail::still_here(f_, "autoshard", made_),
        [&](auto& call) { return detail::autoshard(call, options_, made_); }, args...);
  }

 private:
  std::shared_ptr<F> f_;
  AutoshardOptions options_;
  std::source_location made_;
};

/// Finds the specs of least predicted time within the memory limit:
///
///   autoshard(step, {.mesh = mesh})(model, x, y)
///
/// What an optimiser keeps is cut as the parameters are: arguments of a shape whose path ends as
/// another's does, and lists of arrays that have the parameters' shapes in their order. Where there
/// are more than a dozen others, those whose paths differ in numbers only and whose shapes agree
/// (repeated layers) are cut alike, too.
///
/// Where few choices are left, all are judged. Else templates (replicated, data parallel, fully
/// sharded, tensor parallel) and dimensions that go together are tried, and the best are changed
/// group by group while that helps; the result is never worse than a template. A program of many
/// equal layers is judged by two with few of them while it is searched, and what is found by the
/// whole one.
template <class F>
Autoshard<std::decay_t<F>> autoshard(F&& f, const AutoshardOptions& options = {},
                                     std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), options, loc};
}

}  // namespace tessera::inline v0
