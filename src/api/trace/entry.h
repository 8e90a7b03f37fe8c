// One entry of a traced function's cache: a signature of arguments, with the program made for it.
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

/// The places of the arguments that a program was lowered for.
struct CallPlaces {
  Places places;
  runtime::Backend* backend = nullptr;  // their platform; null if one of them is abstract
};

/// Immutable once it is in a cache, except for its executables, which are compiled on first use.
/// The cache may drop an entry at any time; callers keep it alive.
struct CacheEntry : runtime::Kept {
  // the key:
  std::uint64_t hash = 0;
  std::vector<std::uint64_t> words;  // tree types, structure, statics, axis names and the like
  Mesh scope;                        // its id is in the key
  std::vector<char> present;         // by leaf: whether it is not empty
  std::vector<Type> types;           // of the non-empty leaves
  /// The default platform during the trace if the program lists devices, which may be the default
  /// ones; else null.
  const runtime::Backend* usual = nullptr;

  TracedFunction function;
  std::vector<runtime::ArrayDataPtr> capture_data;  // filled if all captures are concrete
  bool cacheable = true;                            // no capture belongs to a trace
  TreeDef args;
  std::string name;

  /// For each input, for errors about differences between processes; null if there is only one
  /// process.
  std::shared_ptr<const std::vector<std::string>> input_names;
  /// For each input, whether every call donates it and its memory is worth reusing; empty if there
  /// is none.
  std::vector<bool> donated;

  /// `donate` lists arguments of the call.
  CacheEntry(const Call& call, TracedFunction f, const std::string& called,
             const std::vector<int>& donate);
  ~CacheEntry();

  static std::uint64_t hash_of(const Call& call);
  bool matches(const Call& call) const;
  /// The executable for inputs with these layouts and this donation (one flag per input); compiled
  /// on first use.
  const runtime::Executable& executable(const std::vector<bool>& donated, runtime::Backend& on,
                                        std::span<const runtime::ArrayDataPtr> inputs) const;
  /// Donated arguments with fewer bytes are not reused: that is not worth another compiled program.
  static constexpr std::int64_t smallest_reuse = 4096;
  /// The executable for inspection, and for calls that donate exactly what the function was
  /// declared to donate.
  const runtime::Executable& executable(const CallPlaces& at) const;
  /// The function's platform, else that of the arguments or the default one.
  runtime::Backend& platform(const CallPlaces& at) const;
  /// How the program is partitioned for these places; null if it runs as it is.
  std::shared_ptr<const spmd::ProgramShardings> cutting(const Places& places) const;
  /// Throws ShardingError, naming the jit at `loc`, if the program is for an abstract mesh, which
  /// has no devices.
  void need_devices(const SourceLoc& loc) const;
  /// Whether the entry has been compiled for the most places and donations that it may hold. The
  /// cache then drops it, so that nothing is kept for ever.
  bool is_full() const { return count_.load(std::memory_order_relaxed) >= most_versions; }
  static constexpr int most_versions = 64;
  /// Approximate size, excluding captured arrays and executables.
  std::int64_t bytes() const;

 private:
  struct Version {
    std::vector<bool> donated;
    runtime::Backend* backend = nullptr;
    unsigned mode = 0;  // of the backend
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

}  // namespace tessera::inline v0::detail
