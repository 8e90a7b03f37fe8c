#include "codegen/kernel.h"

#include "base/message.h"
#include "codegen/disk_cache.h"
#include "codegen/jit.h"
#include "codegen/kernel_emitter.h"
#include "codegen/kernel_key.h"
#include "codegen/kernel_plan.h"
#include "codegen/llvm_ir.h"

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace tessera::inline v0::codegen {

namespace {

using KernelFn = void (*)(const void* const*, void* const*, void*, std::int64_t, std::int64_t,
                          std::int64_t);

struct Machine {
  KernelPlan plan;
  std::vector<KernelFn> stages;
};
using MachinePtr = std::shared_ptr<const Machine>;

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_future<MachinePtr>> kernels;
  std::atomic<std::int64_t> compiled = 0, from_disk = 0, from_memory = 0, nanoseconds = 0;
};
Cache& cache() {
  static Cache& c = *new Cache;
  return c;
}

std::string compile(const Program& p, const KernelPlan& plan,
                    const std::vector<std::string>& names) {
  auto start = std::chrono::steady_clock::now();
  llvm::LLVMContext context;
  llvm::Module module(names[0], context);
  configure_module(module);
  KernelEmitter emitter(p, plan, module);
  for (std::size_t i = 0; i < plan.stages.size(); ++i) emitter.emit_stage(plan.stages[i], names[i]);
  std::string object = compile_object(module);
  cache().nanoseconds += (std::chrono::steady_clock::now() - start).count();
  return object;
}

MachinePtr make_machine(const Program& p, bool any_length, const std::string& key) {
  auto m = std::make_shared<Machine>();
  m->plan = make_plan(p, any_length);
  if (m->plan.stages.empty()) return m;
  std::string id = cache_id(key);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < m->plan.stages.size(); ++i)
    names.push_back("tessera_" + id + "_" + std::to_string(i));
  std::optional<std::string> object = read_cached(id, key);
  if (object) {
    ++cache().from_disk;
  } else {
    object = compile(p, m->plan, names);
    ++cache().compiled;
    write_cached(id, key, *object);
  }
  for (void* address : link_object(*object, names))
    m->stages.push_back(reinterpret_cast<KernelFn>(address));
  return m;
}

std::string name_of(const Program& p) {
  std::string name;
  std::size_t more = 0;
  for (const Equation& e : p.equations) {
    if (e.op->name == "constant" || e.op->name == "broadcast_in_dim") continue;
    if (name.size() > 48)
      ++more;
    else
      name += (name.empty() ? "" : "+") + e.op->name;
  }
  if (name.empty()) name = p.equations.empty() ? "copy" : p.equations.back().op->name;
  return more ? name + "+" + std::to_string(more) + " more" : name;
}

std::shared_ptr<const Routine> make_routine(const Program& p, const Machine& m,
                                            std::int64_t length) {
  auto r = std::make_shared<Routine>();
  r->name = name_of(p);
  r->scratch_bytes = m.plan.scratch_bytes;
  r->in_place = m.plan.in_place;
  for (std::size_t i = 0; i < m.stages.size(); ++i) {
    StagePlan s = m.plan.stages[i];
    if (length) set_length(s, length);
    r->seconds += s.seconds;
    Stage stage;
    stage.tasks = s.tasks();
    stage.run = [fn = m.stages[i], units = s.units, step = s.units_per_task, length](
                    const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      fn(a.inputs, a.outputs, a.scratch, begin * step, std::min(end * step, units), length);
    };
    r->stages.push_back(std::move(stage));
  }
  return r;
}

}  // namespace

std::vector<std::shared_ptr<const Routine>> compile_kernels(std::span<const ProgramPtr> kernels) {
  struct Job {
    Canonical canonical;
    std::string key;
    std::promise<MachinePtr> promise;
  };
  std::vector<Job> jobs;
  std::vector<std::shared_future<MachinePtr>> machines(kernels.size());
  std::vector<std::int64_t> lengths(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    Canonical c = canonical_kernel(kernels[i]);
    lengths[i] = c.length;
    std::string key = (c.length ? "n" : "s") + kernel_key(*c.program);
    std::lock_guard lock(cache().mutex);
    auto [it, fresh] = cache().kernels.try_emplace(key);
    if (fresh) {
      jobs.push_back({std::move(c), std::move(key), {}});
      it->second = jobs.back().promise.get_future().share();
    } else {
      ++cache().from_memory;
    }
    machines[i] = it->second;
  }
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t i; (i = next++) < jobs.size();) {
      Job& j = jobs[i];
      try {
        j.promise.set_value(make_machine(*j.canonical.program, j.canonical.length != 0, j.key));
      } catch (...) {
        std::lock_guard lock(cache().mutex);
        cache().kernels.erase(j.key);
        j.promise.set_exception(std::current_exception());
      }
    }
  };
  std::vector<std::thread> helpers;
  std::size_t threads = std::min<std::size_t>(std::thread::hardware_concurrency(), jobs.size() / 2);
  for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
  std::vector<std::shared_ptr<const Routine>> routines;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    routines.push_back(make_routine(*kernels[i], *machines[i].get(), lengths[i]));
  return routines;
}

bool is_emitted(const Equation& eqn) {
  return (eqn.op->lowering == Lowering::emitted && eqn.op->emit) ||
         eqn.op->lowering == Lowering::view;
}

KernelStats kernel_stats() {
  Cache& c = cache();
  return {c.compiled, c.from_disk, c.from_memory, 1e-9 * static_cast<double>(c.nanoseconds)};
}

}  // namespace tessera::inline v0::codegen
