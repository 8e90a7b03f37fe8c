#include "codegen/calls/internal.h"

#include "base/process.h"
#include "codegen/calls/onednn.h"
#include "codegen/kernel/kernel.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

namespace tessera::inline v0::codegen {
namespace {

struct Entry {
  std::string_view op;
  CallFactory make;
  std::size_t library_bytes = 0;  // of code that a library makes for it; 0: the routine is our own
};
constexpr Entry kFactories[] = {
    {"concatenate", concatenate_call},
    {"dot_general", dot_general_call, std::size_t{32} << 10},
    {"convolution", convolution_call, std::size_t{128} << 10},
    {"cumsum", cumulative_call},
    {"cumprod", cumulative_call},
    {"cummax", cumulative_call},
    {"cummin", cumulative_call},
    {"scatter", scatter_call},
    {"scatter_add", scatter_call},
    {"scatter_mul", scatter_call},
    {"scatter_min", scatter_call},
    {"scatter_max", scatter_call},
    {"sort", sort_call},
    {"dynamic_update_slice", update_call},
};

// For types that no library takes: the op's own loop nest.
std::shared_ptr<const Routine> emitted(const CallArgs& a) {
  Builder b;
  Values inputs;
  for (const Type& t : a.inputs) inputs.push_back(b.input(Type(t.dtype, t.shape)));
  ProgramPtr program = b.finish(b.emit(a.op, inputs, a.attrs));
  return compile_kernels(std::span(&program, 1)).at(0);
}

// What a routine depends on: not on weakness, nor on the mesh axes of the types.
struct Prepared {
  const Op* op;
  Attrs attrs;
  std::vector<Type> types;
  std::weak_ptr<const Routine> routine;  // kept by the programs that use it
};

class Cache {
 public:
  std::shared_ptr<const Routine> get(const CallArgs& a) {
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
    std::shared_ptr<const Routine> routine = library_call(a);
    if (!routine && a.op.emit) routine = emitted(a);
    std::lock_guard lock(mutex_);
    if (auto other = find()) return other;  // another thread was quicker
    if (entries_.size() >= enough_) {
      std::erase_if(entries_, [](const auto& e) { return e.second.routine.expired(); });
      enough_ = 2 * entries_.size() + 1024;
    }
    entries_.emplace(key, Prepared{&a.op, a.attrs, std::move(types), routine});
    return routine;
  }

 private:
  static std::size_t hash(const Op& op, const std::vector<Type>& types) {
    std::size_t h = std::hash<const Op*>{}(&op);
    auto mix = [&](std::size_t v) { h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2); };
    for (const Type& t : types) {
      mix(static_cast<std::size_t>(t.dtype));
      for (std::int64_t d : t.shape) mix(static_cast<std::size_t>(d));
    }
    return h;
  }

  std::mutex mutex_;
  std::unordered_multimap<std::size_t, Prepared> entries_;
  std::size_t enough_ = 1024;  // entries, before those are dropped whose routines have gone
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
  for (const Entry& e : kFactories) {
    if (e.op != a.op.name) continue;
    auto routine = e.make(a);
    if (!routine || !e.library_bytes) return routine;
    static const bool made = (onednn::make_variables(), true);
    (void)made;
    auto marked = std::make_shared<Routine>(*routine);
    marked->library = true;
    marked->bytes = e.library_bytes;
    return marked;
  }
  return nullptr;
}

std::shared_ptr<const Routine> prepare_call(const Op& op, const Attrs& attrs,
                                            std::span<const Type> inputs,
                                            std::span<const Type> outputs) {
  if (op.lowering != Lowering::called && op.name != "dynamic_update_slice" &&
      op.name != "concatenate")
    return nullptr;
  // Leaked on purpose: threads of the pool may still run routines at exit.
  static Cache* cache = new Cache;
  return cache->get({op, attrs, inputs, outputs});
}

namespace {
// f(first, last) for each task's part of `count` elements.
Stage by_blocks(std::int64_t count,
                std::function<void(const RoutineArgs&, std::int64_t, std::int64_t)> f) {
  constexpr std::int64_t kBlock = 1 << 16;
  Stage stage;
  stage.tasks = std::max<std::int64_t>(1, (count + kBlock - 1) / kBlock);
  stage.run = [count, f = std::move(f)](const RoutineArgs& args, std::int64_t begin,
                                        std::int64_t end) {
    f(args, begin * kBlock, std::min(count, end * kBlock));
  };
  return stage;
}
}  // namespace

Stage widening_stage(DType from, std::int64_t count,
                     std::function<Widening(const RoutineArgs&)> locate) {
  return by_blocks(count, [=, locate = std::move(locate)](const RoutineArgs& args,
                                                          std::int64_t first, std::int64_t last) {
    Widening w = locate(args);
    widen_from(from, static_cast<const char*>(w.from) + first * size_of(from), w.to + first,
               last - first);
  });
}

Stage narrowing_stage(DType to, std::int64_t count,
                      std::function<Narrowing(const RoutineArgs&)> locate) {
  return by_blocks(count, [=, locate = std::move(locate)](const RoutineArgs& args,
                                                          std::int64_t first, std::int64_t last) {
    Narrowing n = locate(args);
    narrow_to(to, n.from + first, static_cast<char*>(n.to) + first * size_of(to), last - first);
  });
}

std::int64_t tasks_for(double flops) {
  constexpr double kFlopsPerTask = 1.2e7;  // some 60 to 120 microseconds of one core
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(flops / kFlopsPerTask), 1, 32);
}

std::int64_t dividing_chunk(std::int64_t n, std::int64_t parts) {
  std::int64_t chunk = (n + parts - 1) / parts;
  while (chunk > 1 && n % chunk) --chunk;
  return std::max<std::int64_t>(1, chunk);
}

}  // namespace tessera::inline v0::codegen
