// Tracing: a thread-local stack of programs being built, and the one door that every operation on
// arrays goes through.
//
// An operation goes to the innermost trace. A traced operand of an outer trace, and a concrete one,
// is *captured*: it becomes an extra input of the inner program, and an operand of whatever the
// inner program becomes outside. So values from outside are constants to the inner transformation
// and ordinary operands to the outer one.
#pragma once

#include "api/array/array_impl.h"
#include "ir/builder.h"

#include <tessera/mesh.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera::inline v0::runtime {
class Backend;
class Executable;
}

namespace tessera::inline v0::detail {

/// A mesh or map axis that collectives may name while a function is traced.
struct BoundAxis {
  /// automatic: of the mesh of a shard_map that leaves it to partitioning, so that collectives may
  /// not name it.
  enum class Kind { vmap, pmap, shard_map, automatic };
  std::string name;
  std::int64_t size = 0;
  Kind kind = Kind::vmap;
  Mesh mesh = {};  // of a shard_map
};

/// What an input of a trace has to fit if it is a bare integer: its value is known where the
/// function is called, and only there.
struct NumberBound {
  std::size_t input;
  DType dtype;
  const char* function;  // that it meets the dtype in
  std::source_location loc;
};

class Trace {
 public:
  /// Pushes a trace on this thread. `what` names the transformation in errors: "jit", "grad", "scan
  /// body".
  explicit Trace(std::string what, std::string name = "");
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  Builder& builder() { return builder_; }
  std::uint64_t id() const { return id_; }
  const std::string& what() const { return what_; }
  /// A new explicit input.
  Array input(const Type& type, const SourceLoc& loc = {});
  /// The variable of this trace that stands for `a`: its own, or a capture.
  Value lift(const Array& a, const char* function);

  struct Finished {
    ProgramPtr program;           // inputs: the explicit ones in order, then the captures
    std::vector<Array> captures;  // values of the level outside
    std::vector<NumberBound> bounds;
  };
  /// Notes that an explicit input meets `dtype`; false where `a` is none.
  bool note_bound(const ArrayImpl& a, DType dtype, const char* function,
                  const std::source_location& loc);

  /// Ends and pops the trace; the program's outputs are these.
  Finished finish(std::span<const Array> outputs);

  static Trace* innermost();
  /// A live trace of this thread, or nullptr.
  static Trace* find(std::uint64_t id);

 private:
  Builder builder_;
  std::string what_;
  std::uint64_t id_;
  Trace* outer_;
  int depth_;  // how many traces are around it
  bool live_ = true;
  InUserCode user_code_;
  std::vector<Var> explicit_inputs_;
  std::vector<NumberBound> bounds_;
  std::vector<Array> captures_;
  std::vector<Var> capture_vars_;
  std::unordered_map<const ArrayImpl*, Var> captured_;
};

/// Throws where `a` has no value here: it is of a function that is no longer being traced, or
/// abstract. `path` is its place in the arguments.
void check_usable(const ArrayImpl& a, const char* function, const SourceLoc& loc,
                  const std::string& path = {});

/// Binds axis names for a scope (pmap, shard_map and vmap bodies). The innermost binding of a name
/// wins.
class AxisScope {
 public:
  explicit AxisScope(std::vector<BoundAxis> axes);
  ~AxisScope();
  AxisScope(const AxisScope&) = delete;
  AxisScope& operator=(const AxisScope&) = delete;
  static const BoundAxis* find(std::string_view name);
  static const std::vector<BoundAxis>& bound();  // innermost last

 private:
  std::size_t count_;
};

/// Applies an op to arrays: into the innermost trace, else compiled and run at once.
std::vector<Array> bind(std::string_view op, std::span<const Array> inputs, Attrs attrs,
                        const SourceLoc& loc);
Array bind1(std::string_view op, std::initializer_list<Array> inputs, Attrs attrs,
            const SourceLoc& loc);
Array bind1(std::string_view op, std::span<const Array> inputs, Attrs attrs, const SourceLoc& loc);

/// What a program that outlives its calls ran as, by where its inputs lay: what comes there again is
/// not looked for among all programs. Knows the last few while they are kept; thread-safe.
class EarlierRuns {
 public:
  std::shared_ptr<const runtime::Executable> find(
      const runtime::Backend& on, std::span<const runtime::ArrayDataPtr> inputs) const;
  void add(const runtime::Backend& on, std::span<const runtime::ArrayDataPtr> inputs,
           const std::shared_ptr<const runtime::Executable>& executable);

 private:
  struct Run {
    const runtime::Backend* on;
    std::vector<runtime::LayoutPtr> layouts;
    std::weak_ptr<const runtime::Executable> executable;
  };
  static constexpr std::size_t kMost = 4;
  mutable std::mutex mutex_;
  std::vector<Run> runs_;  // the newest last
};

/// Applies a whole program: inlined into the innermost trace, else compiled (by content, so that an
/// equal program compiles once) and run. This is how transformations called outside any trace
/// execute. With the `earlier` runs of this program, compiling is looked for there first.
std::vector<Array> apply(const ProgramPtr& program, std::span<const Array> inputs,
                         const SourceLoc& loc, EarlierRuns* earlier = nullptr);
/// Who runs a program on these arrays, which are concrete (runtime/backend.h).
runtime::Backend& backend_of(std::span<const Array> inputs, const char* function);
/// Runs a compiled program on concrete arrays; TraceError naming `function` where one was donated.
std::vector<Array> run(const runtime::Executable& executable, std::span<const Array> inputs,
                       const char* function, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
