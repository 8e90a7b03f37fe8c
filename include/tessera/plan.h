// Plans describe how a program was partitioned, why, and what it will cost, before it runs.
//
//   auto step = ts::jit(train, {.mesh = mesh, .in_shardings = specs});
//   std::cout << step.explain(model, x, y);            // a table
//   ts::save_html(step.explain(model, x, y), "plan.html");
//
// Nothing is computed and no array is allocated: the arguments may be abstract (ts::abstract,
// ts::abstract_like), and so may the mesh, whatever its size (Mesh::abstract).
//
// All figures are for one device. Bytes and flops are exact counts of the program that each device
// runs; seconds are estimated from the speeds in PlanOptions.
#pragma once

#include <tessera/config.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0 {

class Mesh;

/// The link of one device along one mesh axis.
struct LinkSpeed {
  double latency = 1e-6;    // seconds per message, independent of its size
  double bandwidth = 5e10;  // bytes per second that a device receives
  bool operator==(const LinkSpeed&) const = default;
};

/// Parameters of the cost model; the defaults are round numbers for a current accelerator. They
/// affect only the estimated times, never the program, which is partitioned with the `links` given
/// to jit. An axis not listed here uses the jit's `links` if there are any, else `between_machines`
/// if it crosses machines, and `other_links` if not.
///
/// If link speed depends on the distance between devices, give the mesh one axis per level, such as
/// {"rack", 8}, {"machine", 64}, {"device", 8}; a spec lists the axes that shard a dimension
/// together, as in P({"rack", "machine"}). A collective over several axes runs axis by axis and
/// sends most of its bytes along the fastest one.
struct PlanOptions {
  std::map<std::string, LinkSpeed> links = {};  // by mesh axis
  LinkSpeed other_links = {};                   // for axes not listed in `links`
  LinkSpeed between_machines = {5e-6, 2.5e10};  // for unlisted axes that cross machines
  double peak_flops = 1e14;                     // floating-point operations per second
  double memory_bandwidth = 1e12;               // bytes per second
  /// Values of at least this many bytes are listed if they end up replicated on every device.
  std::int64_t large = std::int64_t{1} << 20;
  /// Also plan the memory of temporaries, which requires compiling the program's kernels.
  bool memory = true;
  /// The maximum number of alternative plans to make in search of advice.
  int alternatives = 12;
};

/// Measures the links between the devices of a mesh while all of them are busy, and each device's
/// arithmetic and memory speed, and returns them as `links`, `peak_flops` and `memory_bandwidth`.
/// All processes that have devices of the mesh must call it, and all get the same result. It takes
/// a few seconds per axis.
///
///   const ts::PlanOptions speeds = ts::calibrate_links(mesh);
///   auto step = ts::jit(train, {.mesh = mesh, .in_shardings = specs, .links = speeds.links});
///   std::cout << step.lower(model, x, y).plan(speeds);
///
/// Latency and bandwidth are fitted, with the least relative error, to the times of chains of
/// collectives that move 4 KiB to 2 MiB each. Throws Error for an abstract mesh.
TESSERA_API PlanOptions calibrate_links(const Mesh& mesh,
                                        std::source_location loc = std::source_location::current());
/// Loads a file written by the command `calibrate_links` (bench/calibrate_links.cc). Throws IoError
/// if the file cannot be read, and Error if its content is not valid.
TESSERA_API PlanOptions load_links(const std::string& path,
                                   std::source_location loc = std::source_location::current());

/// A mesh axis of a plan, and what is communicated along it.
struct PlannedAxis {
  /// The name of the axis.
  std::string name;
  /// The number of devices along the axis.
  std::int64_t size = 1;
  /// How many processes and machines the devices along this axis span; 1 if neighbouring devices
  /// along it are in the same one.
  std::int64_t processes = 1, machines = 1;
  /// The speed of its links.
  LinkSpeed link;
  /// Totals over all collectives. Of a collective over several axes, only its share along this axis
  /// counts.
  std::int64_t moved_bytes = 0;  // received by each device
  /// Predicted time of its communication.
  double seconds = 0;
  TESSERA_API bool operator==(const PlannedAxis&) const;
};

/// An argument, a captured array or a result.
struct PlannedEnd {
  std::string name;        // "args[0]/w", "capture 0", "result[1]"
  std::string type, part;  // of the whole value, "f32[16,32]", and of one shard, "f32[16,8]"
  std::string spec;        // "P(none, 'model')"
  std::int64_t bytes = 0;  // of one shard
  bool asked = false;      // the user specified its sharding
  /// Otherwise, the operations through which its first axis was propagated: "follows args[1]
  /// through add".
  std::string why;
  TESSERA_API bool operator==(const PlannedEnd&) const;
};

/// A value that a collective carries, and the operation that needs it.
struct PlannedValue {
  std::string op;          // the op that needs the value; "output" at the end of the program
  std::string line, code;  // the user's source line, and its text if the file can be read
  std::string type;        // of the unsharded value
  std::string from, to;    // its sharding, and the sharding that the op needs
  std::int64_t bytes = 0;  // of this value that a device receives each time
  /// An index into Plan::equations, or PlannedCollective::none.
  std::size_t equation = static_cast<std::size_t>(-1);
  TESSERA_API bool operator==(const PlannedValue&) const;
};

/// A collective. Small independent collectives over the same devices are combined into one that
/// carries all their values and pays the link latency once. They are combined up to the number of
/// bytes that a link moves during its latency, according to the `links` of the jit.
struct PlannedCollective {
  std::string kind;                  // "all_reduce"
  std::vector<std::string> axes;     // the mesh axes that it runs over
  std::vector<PlannedValue> values;  // in program order; at least one
  /// These fields describe the collective's value. If it has several values that differ in a field,
  /// the field gives the first value's and the number of others: "dot and 2 more".
  std::string op, line, code;
  std::string type;        // for several values "3 values, f32"
  std::string from, to;    // for several values only if all agree
  std::int64_t bytes = 0;  // received by each device, each time
  std::int64_t times = 1;  // the product of the trip counts of the enclosing loops
  bool in_while = false;   // an enclosing loop has a trip count known only at run time
  bool in_branch = false;  // inside a branch, so it may not run
  double seconds = 0;      // each time
  /// An index into Plan::equations; for several values that of the first.
  std::size_t equation = none;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::int64_t total_bytes() const { return bytes * times; }
  double total_seconds() const { return seconds * static_cast<double>(times); }
  TESSERA_API bool operator==(const PlannedCollective&) const;
};

/// A result of an equation.
struct PlannedResult {
  std::string name;  // "%12"
  std::string type, spec;
  std::int64_t bytes = 0;  // of one shard
  TESSERA_API bool operator==(const PlannedResult&) const;
};

/// A large value that is replicated on every device.
struct PlannedWhole {
  std::string name, type;
  std::int64_t bytes = 0;
  std::string op, line;  // of the equation that made it; `op` is "argument" for an argument
  std::string why;
  TESSERA_API bool operator==(const PlannedWhole&) const;
};

/// An equation of the unpartitioned program. The equations of a loop body or a branch follow their
/// loop or branch, with greater `depth`.
struct PlannedEquation {
  int depth = 0;
  std::string op, line, scope;
  std::vector<std::string> operands;
  std::vector<PlannedResult> results;
  std::vector<std::size_t> collectives;  // needed by it, as indices into Plan::collectives
  TESSERA_API bool operator==(const PlannedEquation&) const;
};

/// The temporaries of one device that are live during a step of the compiled program.
struct PlannedStep {
  std::string name, line;
  std::int64_t live = 0;  // bytes
  TESSERA_API bool operator==(const PlannedStep&) const;
};

/// A temporary that is live at the step of peak memory.
struct PlannedLive {
  std::string name, line;  // of the step that makes it
  std::string type;        // if known
  std::int64_t bytes = 0;
  TESSERA_API bool operator==(const PlannedLive&) const;
};

/// An interval of the timeline. A loop's work appears once, with the duration of all its
/// iterations.
struct PlannedSpan {
  std::string lane;  // "compute", or the axes of a collective
  std::string name, line;
  double start = 0, seconds = 0;
  TESSERA_API bool operator==(const PlannedSpan&) const;
};

/// Consecutive devices that do the same work.
struct PlannedDevices {
  std::int64_t first = 0, count = 1;
  std::vector<PlannedSpan> spans;
  TESSERA_API bool operator==(const PlannedDevices&) const;
};

/// The plan of one program on one mesh. All figures are for one device.
struct Plan {
  std::string name, mesh;  // "jit(main.cc:12)", "AbstractMesh('data': 64)"
  std::vector<PlannedAxis> axes;
  std::int64_t devices = 1;

  /// Floating-point operations, by each op's own count: 2mnk for a matrix product, one per element
  /// for simple arithmetic. A while loop counts one iteration, and a conditional its most expensive
  /// branch.
  double flops = 0;
  /// Bytes read from and written to memory. Chains of elementwise operations are fused, so values
  /// within them do not count.
  double memory_traffic = 0;
  /// Each equation takes the longer of its arithmetic and its memory traffic.
  double compute_seconds = 0;
  std::int64_t moved_bytes = 0;  // received by the device in all collectives
  double communication_seconds = 0;
  /// The predicted time of one call.
  double seconds() const { return compute_seconds + communication_seconds; }

  /// The shards of arguments and captured arrays, and of results, as counted by memory_stats.
  std::int64_t argument_bytes = 0, result_bytes = 0;
  /// Bytes of the results that reuse the memory of donated arguments (the jit's `donate`). It is 0
  /// if the memory of temporaries was not planned, because the memory planner determines it.
  std::int64_t donated_bytes = 0;
  /// Temporary memory that the runtime's planner lays out for one device, without sharing between
  /// devices: the packed values that live across phases plus the largest phase's own temporaries.
  /// It is -1 if not planned.
  std::int64_t temporary_bytes = -1;
  /// Bytes that each device needs for arguments, results and temporaries.
  std::int64_t peak_bytes() const {
    return argument_bytes + result_bytes - donated_bytes +
           (temporary_bytes > 0 ? temporary_bytes : 0);
  }

  std::vector<PlannedEnd> arguments, results;
  std::vector<PlannedCollective> collectives;  // in program order
  std::vector<PlannedWhole> wholes;            // largest first
  std::vector<PlannedEquation> equations;
  std::vector<PlannedStep> steps;
  /// The temporaries that are live at the step of peak memory, largest first. All but the first 64
  /// are merged into one entry.
  std::vector<PlannedLive> peak;
  std::vector<PlannedDevices> timeline;
  /// Suggests a sharding that makes the most expensive collective cheaper, with figures from a plan
  /// made for that sharding. Empty if none was found.
  std::string advice;

  TESSERA_API bool operator==(const Plan&) const;
};

/// Summarises the predicted time in one sentence: the shares of communication and computation, and
/// the largest contributor to each. Empty if the plan takes no time.
TESSERA_API std::string headline(const Plan& plan);
/// The plan's figures in three lines: computation, communication and memory.
TESSERA_API std::string summary(const Plan& plan);
/// A table for the terminal: the summary, the headline, collectives by cost (identical ones share a
/// row), replicated values, arguments and results, and the advice.
TESSERA_API std::string to_string(const Plan& plan);
TESSERA_API std::ostream& operator<<(std::ostream& out, const Plan& plan);
/// The whole plan. Keys are the names of the members above.
TESSERA_API std::string to_json(const Plan& plan);
/// A self-contained HTML page, which embeds the JSON.
TESSERA_API std::string to_html(const Plan& plan);
/// Throws IoError if the file cannot be written.
TESSERA_API void save_html(const Plan& plan, const std::string& path,
                           std::source_location loc = std::source_location::current());

/// The timeline in Chrome's trace format, which Perfetto and chrome://tracing display. Each group
/// of devices that do the same work is a process with one row for computation and one per set of
/// axes for collectives.
TESSERA_API std::string to_trace(const Plan& plan);
/// Throws IoError if the file cannot be written.
TESSERA_API void save_trace(const Plan& plan, const std::string& path,
                            std::source_location loc = std::source_location::current());

/// The differences between two plans.
struct PlanDiff {
  /// A figure that differs between the plans.
  struct Figure {
    /// The name of the figure, and its text in the plan `before` and in the plan `after`.
    std::string name, before, after;
  };
  std::vector<Figure> figures;          // only those that differ
  std::vector<std::string> gone, came;  // collectives only in `before`, and only in `after`
  std::vector<std::string> placed;      // arguments and results whose sharding differs
  /// Whether the plans are equal.
  bool empty() const { return figures.empty() && gone.empty() && came.empty() && placed.empty(); }
};
TESSERA_API PlanDiff diff(const Plan& before, const Plan& after);
TESSERA_API std::string to_string(const PlanDiff& diff);
TESSERA_API std::ostream& operator<<(std::ostream& out, const PlanDiff& diff);

}  // namespace tessera::inline v0
