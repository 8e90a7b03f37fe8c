// The cached programs of a function transformed by jit, pmap or shard_map.
#pragma once

#include <tessera/detail/call.h>
#include <tessera/inline_vector.h>
#include <memory>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::inline v0 {

struct JitOptions;  // tessera/jit.h

namespace detail {

struct CacheEntry;      // src/api/trace/entry.h
struct CallPlaces;      // src/api/trace/entry.h
struct TracedFunction;  // src/api/trace/traced.h

/// The programs of one function, cached by the signature of its arguments. Subclasses decide how
/// the traced function becomes a program.
class TESSERA_API CachedFunction {
 public:
  CachedFunction(std::string name, std::vector<int> donate, std::source_location loc);
  CachedFunction(const CachedFunction&) = delete;
  CachedFunction& operator=(const CachedFunction&) = delete;
  virtual ~CachedFunction();

  /// Bit i of `moved` is set if argument i may be donated.
  Outcome run(Call& call, std::uint64_t moved);
  /// Like run, but only for arguments with the signature of `entry`; otherwise throws a TraceError
  /// that lists the differences.
  Outcome run_only(Call& call, const CacheEntry& entry);
  std::shared_ptr<const CacheEntry> find_or_build(Call& call);
  /// Where the arguments of a call of `entry` are placed.
  static std::shared_ptr<const CallPlaces> places(const Call& call, const CacheEntry& entry);
  std::size_t trace_count() const;
  const std::string& name() const { return name_; }
  const std::vector<int>& donated() const { return donate_; }

 protected:
  /// Traces the function. It is called without locks, possibly by several threads at once.
  virtual TracedFunction build(Call& call) const = 0;
  /// Appends everything else that the program depends on.
  virtual void extend_key(InlineVector<std::uint64_t, 16>& words) const;

 private:
  std::shared_ptr<const CacheEntry> build_entry(Call& call);
  Outcome run_entry(Call& call, const CacheEntry& entry, std::uint64_t moved) const;
  /// The name that donated arrays record for error messages (src/runtime/claim.h).
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
}  // namespace tessera::inline v0
