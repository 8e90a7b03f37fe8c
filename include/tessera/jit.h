// jit traces a function once per signature of its arguments, compiles the trace, and runs the
// compiled program on every further call.
//
//   auto step = ts::jit([](Mlp model, Array x) { return model(x); });
//   Array y = step(model, x);
//
// The signature consists of the tree types and structure with their static values, the dtype, shape
// and weak-type flag of each leaf, the axis names bound around the call, and the mesh of the scope.
// A number passed for an Array parameter is a weakly typed scalar. A parameter whose type is a C++
// number, enum, string or StaticArray is static. A generic lambda receives numbers unchanged, so
// they are static.
//
// The program runs on the devices that hold its arguments. Arguments sharded over several devices
// (tessera/sharding.h) get a program that every device runs on its shard; arguments of the same
// signature on other devices get another program without retracing. Uncommitted arguments are moved
// to the committed ones; ShardingError is thrown if two arguments are committed to different
// devices.
//
// The function's C++ side effects happen when it is traced, not when the program runs, and its
// captures are frozen at that time. With TESSERA_CHECK_CAPTURES=1 in the environment each call
// traces again and throws if the program would differ. Inside another trace the program is inlined.
//
// Concurrent calls of one jitted function are safe. No lock is held while the user's function runs,
// and a trace that throws leaves no state behind.
#pragma once

#include <tessera/detail/cached_function.h>
#include <tessera/detail/foreign_options.h>
#include <tessera/mesh.h>
#include <tessera/partition_spec.h>
#include <tessera/plan.h>
#include <memory>

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// The options of jit: the mesh and the shardings of a partitioned program, donated arguments, and
/// a name.
struct JitOptions {
  /// The mesh of the specs below and of sharding constraints in the function. The default is the
  /// mesh of the scope (use_mesh) in which the jit is made, or else of the one in which it is
  /// called.
  Mesh mesh = {};
  /// The shardings of the arguments, as a prefix of their tree. Arguments with another sharding are
  /// moved. An unconstrained argument keeps its current sharding if it is already on this mesh;
  /// otherwise the compiler chooses one. Entries for static arguments and for parameters left to
  /// their defaults are ignored. If a mesh or any spec is given, here or for the results, the
  /// program is partitioned: each device computes its shard, and collectives are inserted where
  /// shards must be combined. The values are those of the unpartitioned program, except that sums
  /// over several devices may be added in another order.
  SpecTree in_shardings = unconstrained;
  /// The shardings of the results, as a prefix of their tree.
  SpecTree out_shardings = unconstrained;
  /// Positions of arguments to donate. Their arrays are deleted whatever their size, including all
  /// copies of the handles, and the results may reuse their memory. An array passed with std::move
  /// is also donated if no other handle refers to it. Other arrays that share its memory (rows,
  /// shards, reshapes) keep their values. If two concurrent calls donate the same array, one of
  /// them throws. A failing call returns every donated array that it has not overwritten.
  std::vector<int> donate = {};
  /// The name in errors and profiles. The default is the line of the jit call.
  std::string name = {};
  /// Link speed per mesh axis. If given, the partitioner minimises communication time instead of
  /// bytes. Axes not listed get the default LinkSpeed. All processes must pass the same map.
  std::map<std::string, LinkSpeed> links = {};
};

/// Memory of one call, in bytes.
struct MemoryUse {
  /// Bytes of the arguments, of the outputs, and of the temporaries at their peak.
  std::int64_t arguments = 0, outputs = 0, temporaries = 0;
};

/// A collective of a program and the bytes that it moves in one call.
struct CollectiveUse {
  std::string op;                 // "psum"
  std::vector<std::string> axes;  // the mesh axes that it runs over
  /// How often it runs: the product of the trip counts of the enclosing loops (scan, map, fori_loop
  /// with C++ bounds). If an enclosing loop has a trip count known only at run time (while_loop,
  /// fori_loop with array bounds), `in_loop` is set, and `times` and `bytes` count one iteration
  /// of that loop.
  std::int64_t times = 1;
  std::int64_t bytes = 0;  // contributed by each device, over all `times`
  bool in_loop = false;
  bool in_branch = false;  // inside cond or switch_, so it may not run
  bool operator==(const CollectiveUse&) const = default;
};
/// "psum over 'i': 40 bytes", "all_gather over 'i', 8 times: 32 bytes", "psum over 'i', in a loop:
/// 4 bytes a round".
TESSERA_API std::string to_string(const CollectiveUse& use);
TESSERA_API std::ostream& operator<<(std::ostream& out, const CollectiveUse& use);

/// A program lowered for one signature and not yet run.
class TESSERA_API Lowered {
 public:
  Lowered(std::shared_ptr<detail::CachedFunction> cache,
          std::shared_ptr<const detail::CacheEntry> entry,
          std::shared_ptr<const detail::CallPlaces> places, std::source_location made)
      : cache_(std::move(cache)),
        entry_(std::move(entry)),
        places_(std::move(places)),
        made_(made) {}
  /// The program as traced, as text (docs/ir.md).
  std::string ir() const;
  /// The program that each device runs, with explicit collectives.
  std::string partitioned() const;
  /// The tape: kernels, calls and collectives in order.
  std::string schedule() const;
  /// The memory of one call, in bytes.
  MemoryUse memory() const;
  /// The collectives of one call in program order, each listed once with the number of times it
  /// runs.
  std::vector<CollectiveUse> collectives() const;
  /// How the program was partitioned, why, and its predicted cost (tessera/plan.h).
  Plan plan(const PlanOptions& options = {}) const;

 protected:
  const detail::CacheEntry& entry() const {
    return detail::still_here(entry_, "the program", made_);
  }

  std::shared_ptr<detail::CachedFunction> cache_;
  std::shared_ptr<const detail::CacheEntry> entry_;
  std::shared_ptr<const detail::CallPlaces> places_;
  std::source_location made_;
};

/// A compiled program, which accepts only arguments of the signature it was compiled for.
template <class F>
class Compiled : public Lowered {
 public:
  Compiled(const Lowered& l, std::shared_ptr<F> f) : Lowered(l), f_(std::move(f)) {}
  /// Throws a TraceError that lists the leaves whose types differ if the arguments have another
  /// signature.
  template <class... A>
  auto operator()(A&&... args) const {
    TESSERA_CHECK_CALL_(F, A);
    const detail::CacheEntry& program = entry();
    return detail::with_call(
        *f_, [&](auto& call) { return call.result(cache_->run_only(call, program)); }, args...);
  }

 private:
  std::shared_ptr<F> f_;
};
/// What jit(f).lower(args...) returns: the lowered program, which compile() makes callable.
template <class F>
class LoweredFunction : public Lowered {
 public:
  LoweredFunction(const Lowered& l, std::shared_ptr<F> f) : Lowered(l), f_(std::move(f)) {}
  Compiled<F> compile() const {
    schedule();
    return {*this, f_};
  }

 private:
  std::shared_ptr<F> f_;
};

/// A function with a cache of compiled programs, one per signature; jit, pmap and shard_map return
/// it.
template <class F>
class Jit {
 public:
  using tessera_function = F;

  /// `what` is the function that made this object, and `loc` the line of its caller.
  Jit(F f, std::shared_ptr<detail::CachedFunction> cache, const char* what,
      std::source_location loc)
      : f_(std::make_shared<F>(std::move(f))), cache_(std::move(cache)), what_(what), made_(loc) {}

  template <class... A>
  auto operator()(A&&... args) const {
    TESSERA_CHECK_CALL_(F, A);
    return detail::with_call(
        detail::still_here(f_, what_, made_),
        [&](auto& call) { return call.result(cache_->run(call, detail::moved_mask<A...>())); },
        args...);
  }
  /// Traces without running. Arguments may be abstract.
  template <class... A>
  LoweredFunction<F> lower(A&&... args) const {
    TESSERA_CHECK_CALL_(F, A);
    return detail::with_call(
        detail::still_here(f_, what_, made_),
        [&](auto& call) {
          auto entry = cache_->find_or_build(call);
          auto places = cache_->places(call, *entry);
          return LoweredFunction<F>(Lowered(cache_, std::move(entry), std::move(places), made_),
                                    f_);
        },
        args...);
  }
  /// The plan of the program for these arguments. The arguments and the mesh may be abstract.
  template <class... A>
  Plan explain(A&&... args) const {
    return lower(std::forward<A>(args)...).plan();
  }
  /// The number of completed traces.
  std::size_t trace_count() const { return detail::still_here(cache_, what_, made_).trace_count(); }
  /// The positions of the arguments that every call donates.
  const std::vector<int>& donated_arguments() const {
    return detail::still_here(cache_, what_, made_).donated();
  }

 private:
  std::shared_ptr<F> f_;
  std::shared_ptr<detail::CachedFunction> cache_;
  const char* what_;
  std::source_location made_;
};

__attribute__((unavailable(
    "tessera: jit has no option of this name; its options, in this order: mesh, in_shardings, "
    "out_shardings, donate, name, links (a parameter of a C++ number type is static)")))
detail::Anything
jit(detail::AnyFunction, const detail::NoJitOption&);

/// Returns a callable that traces f once per signature, compiles the trace and runs the program
/// (see the top of this header). Copies of the returned object share one cache.
template <class F>
Jit<std::decay_t<F>> jit(F&& f, const JitOptions& options = {},
                         std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), detail::make_jit_cache("jit", options, loc), "jit", loc};
}
/// jit under the name that JAX once used for jit with shardings.
template <class F>
Jit<std::decay_t<F>> pjit(F&& f, const JitOptions& options = {},
                          std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), detail::make_jit_cache("pjit", options, loc), "pjit", loc};
}

/// Returns the result of f(args...) as abstract arrays. Nothing is computed, and the arguments may
/// be abstract.
template <class F, class... A>
auto eval_shape(F&& f, A&&... args) {
  return detail::with_call(
      f, [&](auto& call) { return call.result(detail::eval_shape(call)); }, args...);
}

/// Returns the tree with abstract leaves, which have dtypes and shapes but no values.
template <class T>
T abstract_like(const T& x) {
  return tree::map([](const Array& a) { return detail::abstract_like(a); }, x);
}

/// make_ir(f)(args...) returns the program that f traces to, as text.
template <class F>
auto make_ir(F f, std::string name = "f") {
  return [f = std::move(f), name = std::move(name)]<class... A>(A&&... args) mutable {
    return detail::with_call(
        f, [&](auto& call) { return detail::ir_of(call, name); }, args...);
  };
}

}  // namespace tessera::inline v0
