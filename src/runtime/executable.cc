#include "runtime/tape_executable.h"

#include "base/process.h"
#include "base/settings.h"
#include "runtime/buffer.h"
#include "runtime/devices.h"
#include "runtime/kept.h"

#include <mutex>
#include <unordered_map>

namespace tessera::inline v0::runtime {
namespace {

struct Cache {
  struct Entry {
    bool isolated, evaluate;
    std::shared_ptr<const TapeExecutable> executable;
  };
  std::mutex mutex;
  std::unordered_multimap<std::uint64_t, Entry> entries;

  std::shared_ptr<const TapeExecutable> find(std::uint64_t hash, const Program& p,
                                             const CompileOptions& o, bool isolated,
                                             bool evaluate) {
    Locked lock(mutex);
    auto [begin, end] = entries.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const Entry& e = it->second;
      if (e.isolated == isolated && e.evaluate == evaluate &&
          e.executable->options().donated == o.donated &&
          same_structure(e.executable->program(), p))
        return e.executable;
    }
    return nullptr;
  }
  void insert(std::uint64_t hash, Entry e) {
    const auto executable = e.executable;
    {
      Locked lock(mutex);
      entries.emplace(hash, std::move(e));
    }
    keep(executable, executable->bytes(),
         [this, hash, which = executable.get()] { drop(hash, which); });
  }
  void drop(std::uint64_t hash, const TapeExecutable* which) {
    std::shared_ptr<const TapeExecutable> gone;
    Locked lock(mutex);
    auto [begin, end] = entries.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (it->second.executable.get() == which) {
        gone = std::move(it->second.executable);
        entries.erase(it);
        return;
      }
  }
};
Cache& cache() {
  static Cache* c = new Cache;
  return *c;
}

}  // namespace

thread_local const SourceLoc* CallerLine::now_ = nullptr;

unsigned compile_mode() {
  const bool evaluate = settings::flag("TESSERA_EVALUATE") || process_is_ending();
  return (isolated() ? 1u : 0u) | (evaluate ? 2u : 0u);
}

std::vector<ArrayDataPtr> Executable::run(std::span<const ArrayDataPtr> inputs) const {
  const bool gives = !options().donated.empty();
  Holds holds(inputs, options().donated, gives ? taker(options().name) : 0);
  if (holds.refused())
    deleted_message(options().name, *inputs[*holds.refused()])
        .from(CallerLine::now())
        .raise<TraceError>();
  return run(inputs, holds);
}

std::shared_ptr<const Executable> compile(const ProgramPtr& p, const CompileOptions& options) {
  const Inside inside;
  const bool isolate = isolated();
  const bool evaluate = settings::flag("TESSERA_EVALUATE") || !Inside::libraries();
  const std::uint64_t hash = hash_of(*p);
  if (auto found = cache().find(hash, *p, options, isolate, evaluate)) return found;
  auto made = std::make_shared<const TapeExecutable>(p, options, isolate, evaluate);
  library_was_used();
  cache().insert(hash, {isolate, evaluate, made});
  return made;
}

}  // namespace tessera::inline v0::runtime
