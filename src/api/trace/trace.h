// Tracing: a thread-local stack of programs being built, and the single entry point of every
// operation on arrays.
//
// An operation is added to the innermost trace. An operand that is concrete, or belongs to an outer
// trace, is *captured*: it becomes an extra input of the inner program, and an operand of the
// equation that the inner program becomes in the outer one. Outside values are thus constants to
// the inner transformation and ordinary operands to the outer one.
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
  /// automatic: an axis that a shard_map leaves to the partitioner, so that collectives may not
  /// name it.
  enum class Kind { vmap, pmap, shard_map, automatic };
  std::string name;
  std::int64_t size = 0;
  Kind kind = Kind::vmap;
  Mesh mesh = {};                        // for shard_map
  runtime::Backend* platform = nullptr;  // for pmap: of its devices
};

/// A dtype that an input of a trace must fit if it is a bare integer, whose value is known only
/// where the function is called.
struct NumberBound {
  std::size_t input;
  DType dtype;
  const char* function;  // the function in which it meets the dtype
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
  /// Adds an explicit input.
  Array input(const Type& type, const SourceLoc& loc = {});
  /// The variable of this trace that stands for `a`: its own, or a capture.
  Value lift(const Array& a, const char* function);

  struct Finished {
    ProgramPtr program;           // inputs: the explicit ones in order, then the captures
    std::vector<Array> captures;  // values of the outer level
    std::vector<NumberBound> bounds;
  };
  /// Records that an explicit input meets `dtype`; returns false if `a` is not an explicit input.
  bool note_bound(const ArrayImpl& a, DType dtype, const char* function,
                  const std::source_location& loc);

  /// Pops the trace and returns its program with these outputs.
  Finished finish(std::span<const Array> outputs);

  static Trace* innermost();
  /// The live trace of this thread with this id, or nullptr.
  static Trace* find(std::uint64_t id);

 private:
  Builder builder_;
  std::string what_;
  std::uint64_t id_;
  Trace* outer_;
  int depth_;  // number of traces around it
  bool live_ = true;
  InUserCode user_code_;
  std::vector<Var> explicit_inputs_;
  std::vector<NumberBound> bounds_;
  std::vector<Array> captures_;
  std::vector<Var> capture_vars_;
  std::unordered_map<const ArrayImpl*, Var> captured_;
};

/// Throws if `a` has no value here, because it is abstract or its function is no longer being
/// traced. `path` is its place in the arguments.
void check_usable(const ArrayImpl& a, const char* function, const SourceLoc& loc,
                  const std::string& path = {});

/// Binds axis names for a scope: the bodies of pmap, shard_map and vmap. The innermost binding of a
/// name wins.
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

/// Applies an op to arrays: adds it to the innermost trace, else compiles it and runs it at once.
std::vector<Array> bind(std::string_view op, std::span<const Array> inputs, Attrs attrs,
                        const SourceLoc& loc);
Array bind1(std::string_view op, std::initializer_list<Array> inputs, Attrs attrs,
            const SourceLoc& loc);
Array bind1(std::string_view op, std::span<const Array> inputs, Attrs attrs, const SourceLoc& loc);

/// Remembers the executables that a long-lived program ran as, by the layouts of its inputs, so
/// that a repeated call skips the lookup among all programs. Holds weak references to the last few;
/// thread-safe.
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

/// Applies a whole program: inlines it into the innermost trace, else compiles it (keyed by
/// content, so that equal programs compile once) and runs it. Transformations called outside any
/// trace execute through this. `earlier`, the runs of this program, is searched before compiling.
std::vector<Array> apply(const ProgramPtr& program, std::span<const Array> inputs,
                         const SourceLoc& loc, EarlierRuns* earlier = nullptr);
/// The backend that runs a program on these arrays, which are concrete (runtime/backend.h).
runtime::Backend& backend_of(std::span<const Array> inputs, const char* function);
/// Runs a compiled program on concrete arrays; throws TraceError, naming `function`, if one was
/// donated.
std::vector<Array> run(const runtime::Executable& executable, std::span<const Array> inputs,
                       const char* function, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
