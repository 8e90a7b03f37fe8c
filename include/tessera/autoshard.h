// autoshard finds good shardings for the arguments and results of a function on a mesh.
//
//   auto best = ts::autoshard(train_step, {.mesh = mesh, .memory_limit = 80e9})(model, x, y);
//   std::cout << best;                                          // the choice, next to templates
//   auto step = ts::jit(train_step, best.options());
//
// Only specs are chosen. Propagation and partitioning then work as they do for hand-written specs,
// so the values never change. A choice is judged by the predicted time of the very program that jit
// would make of it (tessera/plan.h). Nothing is computed: the arguments and the mesh may be
// abstract.
#pragma once

#include <tessera/jit.h>
#include <tessera/plan.h>
#include <memory>

#include <cstdint>
#include <iosfwd>
#include <map>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// What autoshard may choose from, and by which figures it judges.
struct AutoshardOptions {
  /// The default is the mesh of the scope (use_mesh).
  Mesh mesh = {};
  /// Bytes available on each device for arguments, results and temporaries (Plan::peak_bytes); 0
  /// means no limit.
  std::int64_t memory_limit = 0;
  /// Specs that are fixed in advance, as a prefix of the arguments' tree, as for jit.
  SpecTree in_shardings = unconstrained;
  /// Speeds of the devices and of the links between them.
  PlanOptions plan = {};
  /// The most choices to evaluate; 0 picks from 160 (for large programs) to 4096 (for small ones).
  /// If there are no more choices in total, the result is optimal.
  int evaluations = 0;
  /// Time limit of the search, which then returns the best choice so far. The result is
  /// reproducible if `evaluations` ends the search first.
  double seconds = 300;
  /// The name in errors and reports. The default is the line of the call.
  std::string name = {};
};

/// A standard choice for all arguments, to compare with.
struct AutoshardTemplate {
  std::string name;  // "data parallel over 'data', 'model'"
  double seconds = 0;
  /// Peak bytes of arguments, results and temporaries. Temporaries are counted by lifetime, before
  /// memory planning, so the final figure may differ slightly.
  std::int64_t peak_bytes = 0;
  bool fits = true;  // within the memory limit
  bool operator==(const AutoshardTemplate&) const = default;
};

/// Arguments that are sharded alike: those of repeated layers, and the optimiser state of
/// parameters.
struct AutoshardGroup {
  std::string name;  // "args[0]/layers/*/w"
  std::string type;  // of one argument: "f32[16,32]"
  std::string spec;  // "P(none, 'model')"
  std::size_t arguments = 1;
  std::int64_t bytes = 0;  // of one device's shards of all of them
  bool operator==(const AutoshardGroup&) const = default;
};

/// The shardings that autoshard found, with the figures of their plan.
struct AutoShardings {
  /// The name of the function.
  std::string name;
  /// The mesh of the specs.
  Mesh mesh;
  /// Specs for JitOptions. Results that carry state (those with the path and shape of an argument,
  /// as in a training step) are sharded like that argument; the others are unconstrained.
  SpecTree in_shardings = unconstrained, out_shardings = unconstrained;
  /// Link speed per mesh axis if the options' plan has any, for the partitioner.
  std::map<std::string, LinkSpeed> links = {};

  /// Figures from the plan of a jit with these shardings.
  double seconds = 0;
  /// Bytes on each device.
  std::int64_t argument_bytes = 0, result_bytes = 0, temporary_bytes = 0;
  /// The bytes that each device needs, without packing.
  std::int64_t peak_bytes() const { return argument_bytes + result_bytes + temporary_bytes; }
  /// The limit that was given, in bytes; 0 if there was none.
  std::int64_t memory_limit = 0;

  std::vector<AutoshardGroup> groups;
  std::vector<AutoshardTemplate> templates;
  double choices = 1;         // the number of possible choices
  int evaluations = 0;        // choices that were evaluated
  bool exhaustive = false;    // whether all choices were evaluated
  int repeats = 0;            // repeated layers, if the search used fewer of them; 0 if it used all
  double search_seconds = 0;  // wall-clock time

  /// {.mesh = mesh, .in_shardings = in_shardings, .out_shardings = out_shardings, .links = links}
  TESSERA_API JitOptions options() const;
};

/// A table of the choice, the templates to compare with, and the arguments.
TESSERA_API std::string to_string(const AutoShardings& found);
TESSERA_API std::ostream& operator<<(std::ostream& out, const AutoShardings& found);

namespace detail {
TESSERA_API AutoShardings autoshard(Call& call, const AutoshardOptions& options,
                                    std::source_location loc);
}

/// A function waiting for the arguments whose shardings are to be found.
template <class F>
class Autoshard {
 public:
  Autoshard(F f, AutoshardOptions options, std::source_location loc)
      : f_(std::make_shared<F>(std::move(f))), options_(std::move(options)), made_(loc) {}

  /// Traces the function once and searches. Throws ShardingError if no choice fits the memory
  /// limit; the error gives the least memory found and its largest contributors.
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

/// Finds the specs of least predicted time that fit the memory limit:
///
///   autoshard(step, {.mesh = mesh})(model, x, y)
///
/// Optimiser state is sharded like its parameters: arguments whose shape and path suffix equal a
/// parameter's, and lists of arrays with the parameters' shapes in their order. If more than a
/// dozen other arguments remain, those of equal shape whose paths differ only in numbers (repeated
/// layers) are sharded alike too.
///
/// If there are few choices, all are evaluated. Otherwise the search starts from templates
/// (replicated, data parallel, fully sharded, tensor parallel) and sets of related dimensions, and
/// improves the best of them group by group; the result is never worse than a template. For a
/// program of many equal layers the search evaluates two programs with fewer layers, and only its
/// result is evaluated with all layers.
template <class F>
Autoshard<std::decay_t<F>> autoshard(F&& f, const AutoshardOptions& options = {},
                                     std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), options, loc};
}

}  // namespace tessera::inline v0
