#include "runtime/tape_executable.h"

#include "runtime/buffer.h"
#include "runtime/devices.h"
#include "runtime/ending.h"
#include "runtime/pool.h"

#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <unordered_map>

namespace tessera::inline v0::runtime {
namespace {

bool evaluate_only() {
  if (process_is_ending()) return true;
  const char* text = std::getenv("TESSERA_EVALUATE");
  return text && std::strcmp(text, "1") == 0;
}

struct Cache {
  struct Entry {
    std::uint64_t hash;
    bool isolated, evaluate;
    std::shared_ptr<const TapeExecutable> executable;
  };
  static constexpr std::size_t kMost = 8192;
  std::mutex mutex;
  std::list<Entry> entries;  // newest first
  std::unordered_multimap<std::uint64_t, std::list<Entry>::iterator> by_hash;

  std::shared_ptr<const TapeExecutable> find(std::uint64_t hash, const Program& p,
                                             const CompileOptions& o, bool isolated,
                                             bool evaluate) {
    std::lock_guard lock(mutex);
    auto [begin, end] = by_hash.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const Entry& e = *it->second;
      if (e.isolated == isolated && e.evaluate == evaluate &&
          e.executable->options().donated == o.donated &&
          same_structure(e.executable->program(), p))
        return e.executable;
    }
    return nullptr;
  }
  void insert(Entry e) {
    std::lock_guard lock(mutex);
    entries.push_front(std::move(e));
    by_hash.emplace(entries.front().hash, entries.begin());
    if (entries.size() <= kMost) return;
    auto last = std::prev(entries.end());
    auto [begin, end] = by_hash.equal_range(last->hash);
    for (auto it = begin; it != end; ++it)
      if (it->second == last) {
        by_hash.erase(it);
        break;
      }
    entries.erase(last);
  }
};
Cache& cache() {
  static Cache* c = new Cache;
  return *c;
}

}  // namespace

thread_local const SourceLoc* CallerLine::now_ = nullptr;

unsigned compile_mode() { return (isolated() ? 1u : 0u) | (evaluate_only() ? 2u : 0u); }

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
  const bool isolate = isolated(), evaluate = evaluate_only();
  const std::uint64_t hash = hash_of(*p);
  if (auto found = cache().find(hash, *p, options, isolate, evaluate)) return found;
  watch_for_the_end();
  auto made = std::make_shared<const TapeExecutable>(p, options, isolate, evaluate);
  cache().insert({hash, isolate, evaluate, made});
  return made;
}

}  // namespace tessera::inline v0::runtime
