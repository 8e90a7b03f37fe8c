#include "codegen/calls/internal.h"

#include "base/hash.h"
#include "base/process.h"
#include "codegen/kernel/kernel.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

namespace tessera::inline v0::codegen {
namespace {

// The op's own loop nest, for types that no library supports.
std::shared_ptr<const Routine> emitted(const CallArgs& a) {
  Builder b;
  Values inputs;
  for (const Type& t : a.inputs) inputs.push_back(b.input(Type(t.dtype, t.shape)));
  ProgramPtr program = b.finish(b.emit(a.op, inputs, a.attrs));
  return compile_kernels(std::span(&program, 1)).at(0);
}

// The properties on which a routine depends. Weak types and mesh axes are ignored.
struct CachedRoutine {
  const Op* op;
  Attrs attrs;  // none of them a hook
  std::vector<Type> types;
  std::weak_ptr<const Routine> routine;  // owned by the programs that use it
};

std::shared_ptr<const Routine> make(const CallArgs& a) {
  std::shared_ptr<const Routine> routine = library_call(a);
  return !routine && a.op.emit ? emitted(a) : routine;
}

bool has_hook(const Attrs& attrs) {
  return std::any_of(attrs.begin(), attrs.end(),
                     [](const auto& attr) { return std::holds_alternative<HookPtr>(attr.second); });
}

class RoutineCache {
 public:
  std::shared_ptr<const Routine> get(const CallArgs& a) {
    // A hook may hold anything of the user's, which must go with the programs that use it.
    if (has_hook(a.attrs)) return make(a);
    std::vector<Type> types;
    for (std::span<const Type> side : {a.inputs, a.outputs})
      for (const Type& t : side) types.emplace_back(t.dtype, t.shape);
    std::size_t key = hash(a.op, types);
    auto find = [&]() -> std::shared_ptr<const Routine> {
      auto [first, last] = entries_.equal_range(key);
      for (auto it = first; it != last; ++it)
        if (it->second.op == &a.op && it->second.types == types && it->second.attrs == a.attrs)
          if (auto routine = it->second.routine.lock()) return routine;
      return nullptr;
    };
    const Inside inside;
    {
      std::lock_guard lock(mutex_);
      if (auto routine = find()) return routine;
    }
    std::shared_ptr<const Routine> routine = make(a);
    std::lock_guard lock(mutex_);
    if (auto other = find()) return other;  // another thread was faster
    if (entries_.size() >= enough_) {
      std::erase_if(entries_, [](const auto& e) { return e.second.routine.expired(); });
      enough_ = 2 * entries_.size() + 1024;
    }
    entries_.emplace(key, CachedRoutine{&a.op, a.attrs, std::move(types), routine});
    return routine;
  }

 private:
  static std::size_t hash(const Op& op, const std::vector<Type>& types) {
    std::size_t h = std::hash<const Op*>{}(&op);
    for (const Type& t : types) {
      mix(h, static_cast<std::size_t>(t.dtype));
      for (std::int64_t d : t.shape) mix(h, d);
    }
    return h;
  }

  std::mutex mutex_;
  std::unordered_multimap<std::size_t, CachedRoutine> entries_;
  std::size_t enough_ = 1024;  // number of entries at which those of deleted routines are dropped
};

bool writes_nothing(const CallArgs& a) {
  return std::all_of(a.outputs.begin(), a.outputs.end(),
                     [](const Type& t) { return t.bytes() == 0; });
}
std::shared_ptr<const Routine> nothing(const CallArgs& a) {
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  return routine;
}

}  // namespace

std::shared_ptr<const Routine> library_call(const CallArgs& a) {
  if (writes_nothing(a)) return nothing(a);
  if (!a.op.call) return nullptr;
  auto routine = a.op.call(a);
  if (!routine || !a.op.library_bytes) return routine;
  auto marked = std::make_shared<Routine>(*routine);
  marked->library = true;
  marked->bytes = a.op.library_bytes;
  return marked;
}

std::shared_ptr<const Routine> prepare_call(const Op& op, const Attrs& attrs,
                                            std::span<const Type> inputs,
                                            std::span<const Type> outputs) {
  if (op.lowering != Lowering::called && !op.call) return nullptr;
  // Leaked on purpose: threads of the pool may still run routines at exit.
  static RoutineCache* cache = new RoutineCache;
  return cache->get({op, attrs, inputs, outputs});
}

}  // namespace tessera::inline v0::codegen
