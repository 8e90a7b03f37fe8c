// One kind of arguments of a cached function, with the program made for it.
#pragma once

#include "api/trace/follow.h"
#include "api/trace/traced.h"
#include "runtime/backend.h"
#include "runtime/kept.h"

#include <tessera/mesh.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::inline v0::detail {

/// Immutable once it is in a cache, but for the executables, which are made on first use. The cache
/// may let go of it at any time; who calls it holds it.
struct CacheEntry : runtime::Kept {
  // the key
  std::uint64_t hash = 0;
  std::vector<std::uint64_t> words;  // tree types, structure, statics, axis names and the like
  Mesh scope;                        // whose id is in the key
  std::vector<char> present;         // by leaf: not empty
  std::vector<Type> types;           // of the leaves that are not empty

  TracedFunction function;
  std::vector<runtime::ArrayDataPtr> capture_data;  // where all captures are concrete
  bool cacheable = true;                            // no capture belongs to a trace
  TreeDef args;
  std::string name;

  /// By input, for errors between processes; null in a lone one.
  std::shared_ptr<const std::vector<std::string>> input_names;
  /// By input, whether each call gives it away for good and its memory is worth reusing; empty where
  /// none is.
  std::vector<bool> donated;

  /// `donate`: arguments of the call.
  CacheEntry(const Call& call, TracedFunction f, const std::string& called,
             const std::vector<int>& donate);
  ~CacheEntry();

  static std::uint64_t hash_of(const Call& call);
  bool matches(const Call& call) const;
  /// The executable for inputs that lie so and this donation, one flag an input; compiles on first
  /// use.
  const runtime::Executable& executable(const std::vector<bool>& donated, runtime::Backend& on,
                                        std::span<const runtime::ArrayDataPtr> inputs) const;
  /// Below so many bytes reusing an argument's memory is not worth a program of its own.
  static constexpr std::int64_t smallest_reuse = 4096;
  /// For looking at, and for calls whose arguments are given away as the function says alone: it runs
  /// where the function says or these places are.
  const runtime::Executable& executable(const Places& places) const;
  /// How its program is cut for such places; null where it runs as it is.
  std::shared_ptr<const spmd::ProgramShardings> cutting(const Places& places) const;
  /// ShardingError in the name of the jit at `loc` where it is for a mesh without devices.
  void need_devices(const SourceLoc& loc) const;
  /// Whether it has been compiled for as many places and donations as one entry is to hold. A cache
  /// lets go of it then: what a function is called with goes in turn, and nothing is kept for ever.
  bool is_full() const { return count_.load(std::memory_order_relaxed) >= most_versions; }
  static constexpr int most_versions = 64;
  /// Roughly, without the arrays that it captured and its executables.
  std::int64_t bytes() const;

 private:
  struct Version {
    std::vector<bool> donated;
    runtime::Backend* backend = nullptr;
    Places places;
    std::shared_ptr<const runtime::Executable> exe;
    Version* next = nullptr;
  };
  template <class Lie, class MakePlaces>
  const runtime::Executable& version(const Lie& lie, const std::vector<bool>& donated,
                                     runtime::Backend& on, const MakePlaces& places) const;
  mutable std::atomic<Version*> versions_{nullptr};
  mutable std::atomic<int> count_{0};
  mutable std::mutex compiling_;
};

/// Where the arguments lie that a program was lowered for.
struct CallPlaces {
  Places places;
};

}  // namespace tessera::inline v0::detail
