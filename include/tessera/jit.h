// jit: trace a function once for each kind of arguments, compile it, and run the compiled program
// from then on.
//
//   auto step = ts::jit([](Mlp model, Array x) { return model(x); });
//   Array y = step(model, x);
//
// The kind of arguments is: the tree types and structure with their static values, dtype, shape and
// weakness of each leaf, the axis names bound around the call, and the mesh of the scope. A number
// passed for an Array parameter is a weakly typed scalar; a parameter that is a C++ number, enum,
// string or StaticArray is static. A generic lambda takes numbers as they are: static.
//
// It runs where its arguments are: those that lie on several devices (tessera/sharding.h) get a
// program that each of these runs on its parts, others of the same kind another, without tracing
// again. Arguments that are committed nowhere follow; ShardingError where two are on different
// devices.
//
// C++ side effects of the function happen when it is traced, not when it runs, and what it captures
// is frozen then; with TESSERA_CHECK_CAPTURES=1 in the environment each call traces again and
// throws where that would change the program. Inside another trace the program is inlined.
//
// Concurrent calls of one jitted function are safe. No lock is held while the user's function runs,
// and a trace that throws leaves nothing behind.
#pragma once

#include <tessera/detail/call.h>
#include <tessera/mesh.h>
#include <tessera/partition_spec.h>
#include <tessera/plan.h>

#include <concepts>
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

struct JitOptions {
  /// The mesh of the specs below, and of constraints inside. By default that of the scope
  /// (use_mesh), when it is made or else when it is called.
  Mesh mesh = {};
  /// How the arguments are cut, as a prefix of their tree; what is left unconstrained stays as it
  /// lies on this mesh, or else is placed as the program likes. Arguments that lie otherwise are
  /// moved. Static arguments have an entry too;
  /// it is ignored, as are entries of parameters left to their defaults. With a mesh or specs, here
  /// or for the results, the program is partitioned: each device computes its part, and collectives
  /// are put where parts have to meet. Values are those of the whole program; sums over several
  /// devices may be added in another order.
  SpecTree in_shardings = unconstrained;
  /// How the results lie, as a prefix of their tree.
  SpecTree out_shardings = unconstrained;
  /// Positions of arguments to give away: whatever their size, their arrays are deleted, copies of
  /// the handles included, and the results may have their memory. An array passed with std::move is
  /// donated too, where nobody else holds it. Other arrays that share memory with one (rows,
  /// shards, reshapes of it) keep their values. Of two calls that donate one array at once, one
  /// takes it and the other throws. A call that fails gives back what it has not written over.
  std::vector<int> donate = {};
  /// For errors and profiles; the line of the jit call when empty.
  std::string name = {};
  /// What links along the mesh's axes are like, by axis, where they differ: values then go where
  /// that takes the least time, and not where the fewest bytes move. An axis that is not among them
  /// has a LinkSpeed as it comes. All processes say the same.
  std::map<std::string, LinkSpeed> links = {};
};

/// Bytes of one call.
struct MemoryUse {
  std::int64_t arguments = 0, outputs = 0, temporaries = 0;
};

/// A collective of a program, and what it moves in a call.
struct CollectiveUse {
  std::string op;                 // "psum"
  std::vector<std::string> axes;  // names of the mesh axes that it runs over
  /// How often it runs: the product of the lengths of the loops around it (scan, map, fori_loop
  /// between C++ numbers). Where only the run knows the number of rounds of a loop around it
  /// (while_loop, fori_loop between arrays), `in_loop` is set, and `times` and `bytes` are for one
  /// round.
  std::int64_t times = 1;
  std::int64_t bytes = 0;  // that each device puts in, all times together
  bool in_loop = false;
  bool in_branch = false;  // of cond or switch_: perhaps it does not run at all
  bool operator==(const CollectiveUse&) const = default;
};
/// "psum over 'i': 40 bytes", "all_gather over 'i', 8 times: 32 bytes", "psum over 'i', in a loop:
/// 4 bytes a round".
TESSERA_API std::string to_string(const CollectiveUse& use);
TESSERA_API std::ostream& operator<<(std::ostream& out, const CollectiveUse& use);

namespace detail {
struct CacheEntry;      // src/api/trace/entry.h
struct CallPlaces;      // src/api/trace/entry.h
struct TracedFunction;  // src/api/trace/traced.h

/// Programs of one function by the kind of its arguments. What becomes of the traced function is up
/// to the subclass.
class TESSERA_API CachedFunction {
 public:
  CachedFunction(std::string name, std::vector<int> donate, std::source_location loc);
  CachedFunction(const CachedFunction&) = delete;
  CachedFunction& operator=(const CachedFunction&) = delete;
  virtual ~CachedFunction();

  /// Bit i of `moved` says that argument i may be donated.
  Outcome run(Call& call, std::uint64_t moved);
  /// As run, for arguments of the kind that `entry` was made for; TraceError listing the
  /// differences otherwise.
  Outcome run_only(Call& call, const CacheEntry& entry);
  std::shared_ptr<const CacheEntry> find_or_build(Call& call);
  /// Where the arguments of a call of `entry` lie.
  static std::shared_ptr<const CallPlaces> places(const Call& call, const CacheEntry& entry);
  std::size_t trace_count() const;
  const std::string& name() const { return name_; }

 protected:
  /// Traces; called without locks, perhaps by several threads at once.
  virtual TracedFunction build(Call& call) const = 0;
  /// Appends what else the program depends on.
  virtual void extend_key(InlineVector<std::uint64_t, 16>& words) const;

 private:
  std::shared_ptr<const CacheEntry> build_entry(Call& call);
  Outcome run_entry(Call& call, const CacheEntry& entry, std::uint64_t moved) const;
  /// What arrays given to it remember (src/runtime/claim.h).
  std::uint32_t taker() const;

  struct State;
  std::string name_;
  std::vector<int> donate_;
  std::source_location loc_;
  std::shared_ptr<State> state_;
};

TESSERA_API std::shared_ptr<CachedFunction> make_jit_cache(const char* what,
                                                           const JitOptions& options,
                                                           std::source_location loc);
TESSERA_API Outcome eval_shape(Call& call);
TESSERA_API std::string ir_of(Call& call, const std::string& name);
TESSERA_API Array abstract_like(const Array& x);

template <class... A>
constexpr std::uint64_t moved_mask() {
  std::uint64_t mask = 0, bit = 1;
  ((mask |=
    (!std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>) ? bit : 0,
    bit <<= 1),
   ...);
  return mask;
}

}  // namespace detail

/// A program made for one kind of arguments, before it runs.
class TESSERA_API Lowered {
 public:
  Lowered(std::shared_ptr<detail::CachedFunction> cache,
          std::shared_ptr<const detail::CacheEntry> entry,
          std::shared_ptr<const detail::CallPlaces> places, std::source_location made)
      : cache_(std::move(cache)),
        entry_(std::move(entry)),
        places_(std::move(places)),
        made_(made) {}
  /// As traced.
  std::string ir() const;
  /// As it runs on each device, collectives explicit.
  std::string partitioned() const;
  /// The tape: kernels, calls and collectives in order.
  std::string schedule() const;
  MemoryUse memory() const;
  /// What the devices exchange in a call, in the program's order, each collective once with how
  /// often it runs.
  std::vector<CollectiveUse> collectives() const;
  /// What partitioning made of it, why, and what it will cost (tessera/plan.h).
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

/// A compiled program: takes arguments of the one kind it was made for.
template <class F>
class Compiled : public Lowered {
 public:
  Compiled(const Lowered& l, std::shared_ptr<F> f) : Lowered(l), f_(std::move(f)) {}
  /// TraceError listing the leaves that differ in type when these arguments are of another kind.
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

/// A function whose programs are kept by the kind of its arguments: what jit, pmap and shard_map
/// give.
template <class F>
class Jit {
 public:
  using tessera_function = F;

  /// `what` made it at `loc`.
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
  /// Traces without running; arguments may be abstract.
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
  /// The plan of these arguments' program, which may be abstract; so may the mesh be.
  template <class... A>
  Plan explain(A&&... args) const {
    return lower(std::forward<A>(args)...).plan();
  }
  /// How often the function was traced to the end.
  std::size_t trace_count() const { return detail::still_here(cache_, what_, made_).trace_count(); }

 private:
  std::shared_ptr<F> f_;
  std::shared_ptr<detail::CachedFunction> cache_;
  const char* what_;
  std::source_location made_;
};

namespace detail {
/// Options of other libraries, and slips of the pen, in the order of those that they stand for.
struct NoJitOption {
  Anything axis_name{}, device{}, devices{}, backend{}, mesh{}, in_axes{}, in_specs{},
      in_axis_resources{}, in_shardings{}, out_axes{}, out_specs{}, out_axis_resources{},
      out_shardings{}, donated{}, donate_args{}, donate_argnums{}, donate_argnames{}, donate{},
      static_args{}, static_argnums{}, static_argnames{}, keep_unused{}, inlined{}, names{}, name{},
      link_speeds{}, links{};
};
}  // namespace detail
__attribute__((unavailable(
    "tessera: jit has no option of this name; its options, in this order: mesh, in_shardings, "
    "out_shardings, donate, name, links (a parameter of a C++ number type is static)")))
detail::Anything
jit(detail::AnyFunction, const detail::NoJitOption&);

/// Copies of the result share the cache.
template <class F>
Jit<std::decay_t<F>> jit(F&& f, const JitOptions& options = {},
                         std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), detail::make_jit_cache("jit", options, loc), "jit", loc};
}
/// jit, as it was called where shardings came first.
template <class F>
Jit<std::decay_t<F>> pjit(F&& f, const JitOptions& options = {},
                          std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), detail::make_jit_cache("pjit", options, loc), "pjit", loc};
}

/// The result of f(args...) as abstract arrays; nothing is computed, and arguments may be abstract.
template <class F, class... A>
auto eval_shape(F&& f, A&&... args) {
  return detail::with_call(
      f, [&](auto& call) { return call.result(detail::eval_shape(call)); }, args...);
}

/// Dtypes and shapes of a tree's leaves without their values.
template <class T>
T abstract_like(const T& x) {
  return tree::map([](const Array& a) { return detail::abstract_like(a); }, x);
}

/// make_ir(f)(args...) is the program that f traces to, as text.
template <class F>
auto make_ir(F f, std::string name = "f") {
  return [f = std::move(f), name = std::move(name)]<class... A>(A&&... args) mutable {
    return detail::with_call(
        f, [&](auto& call) { return detail::ir_of(call, name); }, args...);
  };
}

}  // namespace tessera::inline v0
