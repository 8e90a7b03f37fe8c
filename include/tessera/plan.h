// Plans: what the partitioner made of a program, why, and what it will cost, before anything runs.
//
//   auto step = ts::jit(train, {.mesh = mesh, .in_shardings = specs});
//   std::cout << step.explain(model, x, y);            // a table
//   ts::save_html(step.explain(model, x, y), "plan.html");
//
// Nothing is computed and no array is made: arguments may be abstract (ts::abstract,
// ts::abstract_like), and so may the mesh, of any size (Mesh::abstract).
//
// All figures are of one device. Bytes and flops are counted, exactly, in the program that each
// device runs; seconds are a model's, by the speeds in PlanOptions.
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

/// What a device has along one axis of a mesh.
struct LinkSpeed {
  double latency = 1e-6;    // seconds that a message takes beside its bytes
  double bandwidth = 5e10;  // bytes a second that a device receives
  bool operator==(const LinkSpeed&) const = default;
};

/// Speeds are those of an accelerator of today, rounded, unless somebody says better. They price a
/// plan and do not change it: the program is the one that is run, which heeds the `links` of its jit.
/// Those count here too, unless an axis is given another speed. Where several machines run the
/// program, an axis between them that nobody said anything of has `between_machines`.
///
/// Where links differ by how far apart devices are, the mesh has an axis for each distance, such as
/// {"rack", 8}, {"machine", 64}, {"device", 8}; a spec names those that cut a dimension together,
/// P({"rack", "machine"}). A collective over several axes goes axis by axis, most of its bytes along
/// the fastest.
struct PlanOptions {
  std::map<std::string, LinkSpeed> links = {};  // by axis
  LinkSpeed other_links = {};                   // of axes that are not among them
  LinkSpeed between_machines = {5e-6, 2.5e10};  // of those along which machines differ
  double peak_flops = 1e14;                     // floating-point operations a second
  double memory_bandwidth = 1e12;               // bytes a second
  /// Values of so many bytes are listed where they end up whole on every device.
  std::int64_t large = std::int64_t{1} << 20;
  /// Plan the memory of temporaries too, which compiles the program's kernels.
  bool memory = true;
  /// How many other plans are made at most to find advice.
  int alternatives = 12;
};

/// Measures the links between the devices of a mesh, all of them at work, and what each computes and
/// reads of memory: `links`, `peak_flops` and `memory_bandwidth`, the same in all processes that run
/// this. It takes some seconds an axis. All processes that have devices of the mesh call it.
///
///   const ts::PlanOptions speeds = ts::calibrate_links(mesh);
///   auto step = ts::jit(train, {.mesh = mesh, .in_shardings = specs, .links = speeds.links});
///   std::cout << step.lower(model, x, y).plan(speeds);
///
/// Latency and bandwidth are those under which a plan's model is nearest, relatively, to the times of
/// chains of collectives of 4 KiB to 2 MiB. Error for an abstract mesh.
TESSERA_API PlanOptions calibrate_links(const Mesh& mesh,
                                        std::source_location loc = std::source_location::current());
/// What the command `calibrate_links` has written (bench/calibrate_links.cc). IoError for a file that cannot be
/// read, Error for one that says something else.
TESSERA_API PlanOptions load_links(const std::string& path,
                                   std::source_location loc = std::source_location::current());

struct PlannedAxis {
  std::string name;
  std::int64_t size = 1;
  /// Over which its devices lie, where several run this: 1, they are neighbours in one.
  std::int64_t processes = 1, machines = 1;
  LinkSpeed link;
  /// Of all collectives; of one over several axes its share along this one.
  std::int64_t moved_bytes = 0;  // that a device receives
  double seconds = 0;
  bool operator==(const PlannedAxis&) const = default;
};

/// An argument, a captured array or a result.
struct PlannedEnd {
  std::string name;        // "args[0]/w", "capture 0", "result[1]"
  std::string type, part;  // "f32[16,32]", "f32[16,8]"
  std::string spec;        // "P(none, 'model')"
  std::int64_t bytes = 0;  // of the part
  bool asked = false;      // the user specified its sharding
  std::string why;         // otherwise how it came by its first axis, "follows args[1] through add"
  bool operator==(const PlannedEnd&) const = default;
};

/// A value that a collective carries, and what it is there for.
struct PlannedValue {
  std::string op;          // that needed it; "output" at the program's end
  std::string line, code;  // of the user; what is written there, if it can be read
  std::string type;        // of the whole value
  std::string from, to;    // how it lies, and how the op wants it
  std::int64_t bytes = 0;  // of it that a device receives each time
  /// In Plan::equations, or PlannedCollective::none.
  std::size_t equation = static_cast<std::size_t>(-1);
  bool operator==(const PlannedValue&) const = default;
};

/// A collective. Small ones over the same devices that wait for nothing of each other are one, which
/// carries the values of all: it waits for the latency of its links once. They are combined up to
/// the bytes that a link moves in its latency, by the `links` of the jit.
struct PlannedCollective {
  std::string kind;                  // "all_reduce"
  std::vector<std::string> axes;     // it runs over
  std::vector<PlannedValue> values;  // in the order of the program; at least one
  /// They describe its value. If several values differ in one of them, it is the first value's with
  /// the number of others: "dot and 2 more".
  std::string op, line, code;
  std::string type;             // of several: "3 values, f32"
  std::string from, to;         // of several, where all agree
  std::int64_t bytes = 0;       // that a device receives each time
  std::int64_t times = 1;       // by the lengths of the loops around it
  bool in_while = false;        // and by turns that only the run knows
  bool in_branch = false;       // perhaps it does not run
  double seconds = 0;           // each time
  std::size_t equation = none;  // in Plan::equations; of several values the first one's
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::int64_t total_bytes() const { return bytes * times; }
  double total_seconds() const { return seconds * static_cast<double>(times); }
  bool operator==(const PlannedCollective&) const = default;
};

/// A value.
struct PlannedResult {
  std::string name;  // "%12"
  std::string type, spec;
  std::int64_t bytes = 0;  // of a device's part
  bool operator==(const PlannedResult&) const = default;
};

/// A large value that every device holds whole.
struct PlannedWhole {
  std::string name, type;
  std::int64_t bytes = 0;
  std::string op, line;  // that made it; "argument"
  std::string why;
  bool operator==(const PlannedWhole&) const = default;
};

/// An equation of the whole program. Those of a loop's body or a branch follow theirs, deeper.
struct PlannedEquation {
  int depth = 0;
  std::string op, line, scope;
  std::vector<std::string> operands;
  std::vector<PlannedResult> results;
  std::vector<std::size_t> collectives;  // that it needed
  bool operator==(const PlannedEquation&) const = default;
};

/// Temporaries that are alive while a step of the compiled program runs, in a device's memory.
struct PlannedStep {
  std::string name, line;
  std::int64_t live = 0;  // bytes
  bool operator==(const PlannedStep&) const = default;
};

/// A temporary that is alive where most are.
struct PlannedLive {
  std::string name, line;  // of the step that makes it
  std::string type;        // where one is known
  std::int64_t bytes = 0;
  bool operator==(const PlannedLive&) const = default;
};

/// A stretch of time. What a loop runs stands there once, for all its turns together.
struct PlannedSpan {
  std::string lane;  // "compute", or the axes of a collective
  std::string name, line;
  double start = 0, seconds = 0;
  bool operator==(const PlannedSpan&) const = default;
};

/// Devices that do the same.
struct PlannedDevices {
  std::int64_t first = 0, count = 1;
  std::vector<PlannedSpan> spans;
  bool operator==(const PlannedDevices&) const = default;
};

/// One program on one mesh. Figures are those of one device.
struct Plan {
  std::string name, mesh;  // "jit(main.cc:12)", "AbstractMesh('data': 64)"
  std::vector<PlannedAxis> axes;
  std::int64_t devices = 1;

  /// By the ops' counts: 2mnk of a product, one an element of simple arithmetic. Of a while loop
  /// one turn counts, of branches the costliest.
  double flops = 0;
  /// Bytes that its work reads from memory and writes there, where chains of elementwise operations
  /// pass values on without storing them.
  double memory_traffic = 0;
  double compute_seconds = 0;    // each equation at the slower of peak_flops and bandwidth
  std::int64_t moved_bytes = 0;  // that it receives in all collectives
  double communication_seconds = 0;
  double seconds() const { return compute_seconds + communication_seconds; }

  /// Parts of arguments and captured arrays, and of results: what memory_stats counts.
  std::int64_t argument_bytes = 0, result_bytes = 0;
  /// Of the results, those that lie where arguments lay that the jit's `donate` gives away. 0 where
  /// temporary memory was not asked for, since the same planner says it.
  std::int64_t donated_bytes = 0;
  /// What the runtime's planner lays out for one device that shares with nobody: values between
  /// phases, packed, and the most that a phase needs of its own. -1 where it was not asked for.
  std::int64_t temporary_bytes = -1;
  std::int64_t peak_bytes() const {
    return argument_bytes + result_bytes - donated_bytes +
           (temporary_bytes > 0 ? temporary_bytes : 0);
  }

  std::vector<PlannedEnd> arguments, results;
  std::vector<PlannedCollective> collectives;  // in the order of the program
  std::vector<PlannedWhole> wholes;            // the largest first
  std::vector<PlannedEquation> equations;
  std::vector<PlannedStep> steps;
  /// Temporaries that are alive in the step with the most of them, the largest first; behind 64 the
  /// others together.
  std::vector<PlannedLive> peak;
  std::vector<PlannedDevices> timeline;
  /// What makes the costliest collective cheaper, with figures of the plan that was made to see;
  /// empty where nothing was found.
  std::string advice;

  bool operator==(const Plan&) const = default;
};

/// Where the time goes, in a sentence: the shares of communication and work, and what takes most of
/// each. Empty where a plan takes no time.
TESSERA_API std::string headline(const Plan& plan);
/// Its figures: work, communication and memory, a line each.
TESSERA_API std::string summary(const Plan& plan);
/// A table for the terminal: these figures, the headline, collectives by cost, what is whole
/// everywhere, arguments and results, advice. Collectives that are alike are one row.
TESSERA_API std::string to_string(const Plan& plan);
TESSERA_API std::ostream& operator<<(std::ostream& out, const Plan& plan);
/// All of it. Names are those of the members above.
TESSERA_API std::string to_json(const Plan& plan);
/// One page that needs nothing else, with the JSON in it.
TESSERA_API std::string to_html(const Plan& plan);
/// IoError where the file cannot be written.
TESSERA_API void save_html(const Plan& plan, const std::string& path,
                           std::source_location loc = std::source_location::current());

/// Its timeline in the format of Chrome's traces, which Perfetto and chrome://tracing show: a process
/// for devices that do the same, a row for work and one for the axes of collectives.
TESSERA_API std::string to_trace(const Plan& plan);
/// IoError where the file cannot be written.
TESSERA_API void save_trace(const Plan& plan, const std::string& path,
                            std::source_location loc = std::source_location::current());

/// What a second plan has otherwise than a first.
struct PlanDiff {
  struct Figure {
    std::string name, before, after;
  };
  std::vector<Figure> figures;          // those that differ
  std::vector<std::string> gone, came;  // collectives
  std::vector<std::string> placed;      // arguments and results that lie otherwise
  bool empty() const { return figures.empty() && gone.empty() && came.empty() && placed.empty(); }
};
TESSERA_API PlanDiff diff(const Plan& before, const Plan& after);
TESSERA_API std::string to_string(const PlanDiff& diff);
TESSERA_API std::ostream& operator<<(std::ostream& out, const PlanDiff& diff);

}  // namespace tessera::inline v0
