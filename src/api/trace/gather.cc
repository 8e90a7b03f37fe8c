#include "api/trace/gather.h"

#include "api/trace/chain.h"
#include "base/hash.h"
#include "base/settings.h"
#include "base/thread_kept.h"
#include "ir/callback.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "processes/processes.h"
#include "runtime/backend.h"
#include "runtime/kept.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

namespace tessera::inline v0 {

namespace {

// The process has one setting, because it is its user's. -1: as the environment says.
std::atomic<int> g_eager{-1};

Eager eager_of_environment() {
  const std::string text = settings::text("TESSERA_EAGER");
  return text == "gathered"  ? Eager::gathered
         : text == "at_once" ? Eager::at_once
                             : Eager::by_platform;
}

}  // namespace

void set_eager(Eager when) { g_eager.store(static_cast<int>(when), std::memory_order_relaxed); }

Eager eager() {
  int set = g_eager.load(std::memory_order_relaxed);
  if (set < 0) {
    const int found = static_cast<int>(eager_of_environment());
    // Unless another thread has set it meanwhile, whose setting is then in `set`.
    if (g_eager.compare_exchange_strong(set, found)) set = found;
  }
  return static_cast<Eager>(set);
}

namespace detail {

namespace {

// The cost of a call is small beside that of so many operations, and even slow compilers take only
// about a second for them.
constexpr std::size_t kMostOperations = 64;
// From this many operations on, a chain ends where an earlier one began. This is half of the number
// above, so that a loop with fewer operations completes a whole number of iterations between the
// two.
constexpr std::size_t kFewOperations = 32;
// A larger program is a function of the user's that was transformed, and worth a call of its own.
constexpr std::size_t kMostEquations = 256;
// A chain with more work runs at once, so that devices are not idle while more is recorded. Fast
// ones take a fraction of a millisecond for this.
constexpr double kMostFlops = 1e10;
// A chain keeps no more than this of arrays that the user has dropped already.
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
constexpr std::size_t kStarts = 64;
constexpr std::size_t kSeenOperations = 4096;

/// The program of an operation when it was last recorded.
struct SeenOperation {
  std::uint64_t program = 0;
  bool varies = false;  // it was another one before
};

/// The state of a thread that gathers operations. An operation is identified by its name and the
/// user's line.
struct Gathering {
  std::shared_ptr<Chain> chain;  // null, or not open any more: the next operation begins a chain
  std::size_t first = 0;         // the operation with which it began
  double flops = 0;              // of its operations
  bool follows_full = false;     // the chain before it had the most operations
  std::array<std::size_t, kStarts> starts{};  // the operations with which the last chains began
  std::size_t next_start = 0;
  std::unordered_map<std::size_t, SeenOperation> seen;

  bool began_with(std::size_t operation) const {
    return std::find(starts.begin(), starts.end(), operation) != starts.end();
  }
  void begin(runtime::Backend& on, int device, std::size_t operation) {
    chain = std::make_shared<Chain>(on, device);
    first = operation;
    flops = 0;
    if (!began_with(operation)) starts[next_start++ % kStarts] = operation;
  }
  std::shared_ptr<Chain> end() {
    follows_full = false;
    return std::exchange(chain, nullptr);
  }
  bool is_full() const { return chain->operations() >= kMostOperations; }
  bool ends_before(std::size_t operation) const {
    const std::size_t count = chain->operations();
    if (is_full() || chain->keeps_more_than(kMostBytes)) return true;
    if (!began_with(operation)) return false;
    // The rest of a long turn is a chain of its own, however short it is: the next turn then has
    // the chains of this one.
    return count >= kFewOperations || (follows_full && operation != first);
  }
};
thread_local ThreadKept<Gathering> gathering;

std::size_t operation_of(const Program& program, const SourceLoc& loc) {
  std::size_t h = std::hash<std::string>()(program.name);
  mix(h, reinterpret_cast<std::uintptr_t>(loc.file));
  mix(h, loc.line);
  return h;
}

// Whether the operation has had different programs for operands of these types, such as the row
// x[i] in a loop over i.
bool has_varied(Gathering& g, std::size_t operation, const Program& program) {
  for (const Var v : program.inputs) {
    const Type& t = program.type(v);
    mix(operation, static_cast<int>(t.dtype));
    for (const std::int64_t extent : t.shape) mix(operation, extent);
  }
  if (g.seen.size() >= kSeenOperations) g.seen.clear();
  const std::uint64_t now = hash_of(program);
  const auto [at, fresh] = g.seen.try_emplace(operation, SeenOperation{now, false});
  if (at->second.program != now) at->second = {now, true};
  return at->second.varies;
}

// Whether it makes no difference when the program runs, and one device can run it.
bool can_wait(const Program& p) {
  return std::none_of(p.equations.begin(), p.equations.end(), [](const Equation& e) {
    const auto is_hook = [](const auto& attr) {
      return std::get_if<HookPtr>(&attr.second) != nullptr;
    };
    return e.op->effect || e.op->position || e.op->constrains ||
           e.op->lowering == Lowering::collective ||
           (e.op->flow && e.op->flow(e.attrs).kind == Flow::Kind::region) ||
           std::any_of(e.attrs.begin(), e.attrs.end(), is_hook) ||
           any_nested(e.attrs, [](const ProgramPtr& q) { return !can_wait(*q); });
  });
}

double flops_of(const Program& program) {
  double flops = 0;
  std::vector<Type> inputs, outputs;
  for (const Equation& e : program.equations) {
    if (!e.op->cost) continue;
    inputs.clear();
    outputs.clear();
    for (const Var v : e.inputs) inputs.push_back(program.type(v));
    for (const Var v : e.outputs) outputs.push_back(program.type(v));
    flops += e.op->cost(inputs, outputs, e.attrs).flops;
  }
  return flops;
}

// The layout of the results of an operation on these inputs; null if they are on several devices,
// or committed to different ones, which is an error of the operation.
runtime::LayoutPtr place_on_one_device(runtime::Backend& on, std::span<const Array> inputs) {
  std::vector<runtime::LayoutPtr> layouts;
  const runtime::Layout* committed = nullptr;
  for (const Array& a : inputs) {
    const runtime::ArrayData* data = a.impl()->data.get();
    layouts.push_back(data ? data->layout : runtime::host_layout());
    const runtime::Layout& l = *layouts.back();
    if (l.devices().size() != 1) return nullptr;
    if (!l.committed) continue;
    if (l.backend != &on || (committed && committed->devices() != l.devices())) return nullptr;
    committed = &l;
  }
  return place_of_results(on, layouts);
}

}  // namespace

bool gathers(const runtime::Backend& on) {
  switch (eager()) {
    case Eager::by_platform: return &on != &runtime::host_backend();
    case Eager::gathered: return true;
    case Eager::at_once: break;
  }
  return false;
}

std::optional<std::vector<Array>> gather(const Program& program, std::span<const Array> inputs,
                                         runtime::Backend& on, const SourceLoc& loc) {
  if (program.equations.size() > kMostEquations || InCallback::is() || processes::count() > 1 ||
      !can_wait(program))
    return std::nullopt;
  const runtime::LayoutPtr place = place_on_one_device(on, inputs);
  if (!place) return std::nullopt;
  Gathering& g = *gathering;
  const std::size_t operation = operation_of(program, loc);
  const bool varies = has_varied(g, operation, program);
  const int device = place->devices()[0];
  if (g.chain && g.chain->is_open() &&
      (&g.chain->backend() != &on || g.chain->device() != device || g.ends_before(operation))) {
    const bool full = g.is_full();
    run_gathered();
    g.follows_full = full;
  } else if (g.chain && !g.chain->is_open()) {
    g.end();  // somebody has read a value
  }
  for (;;) {
    if (!g.chain) g.begin(on, device, operation);
    const std::shared_ptr<Chain> chain = g.chain;
    for (const Array& a : inputs)
      if (const auto& other = a.impl()->chain; other && other != chain) other->finish();
    if (auto results = chain->append(program, inputs, place, varies, loc)) {
      g.flops += flops_of(program);
      if (g.flops >= kMostFlops) run_gathered();
      runtime::trim_kept();
      return results;
    }
    if (g.chain == chain) g.end();  // another thread has read a value
  }
}

void run_gathered() {
  Gathering& g = *gathering;
  if (!g.chain) return;
  const std::shared_ptr<Chain> chain = g.end();
  try {
    chain->finish();
  } catch (...) {
    // The chain keeps the error.
  }
}

}  // namespace detail

}  // namespace tessera::inline v0
