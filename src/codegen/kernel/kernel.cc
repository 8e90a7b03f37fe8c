#include "codegen/kernel/kernel.h"

#include "base/message.h"
#include "base/process.h"
#include "base/settings.h"
#include "codegen/kernel/disk_cache.h"
#include "codegen/kernel/emitter.h"
#include "codegen/kernel/jit.h"
#include "codegen/kernel/kernel_schedule_print.h"
#include "codegen/kernel/key.h"
#include "codegen/kernel/llvm_ir.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>

namespace tessera::inline v0::codegen {

namespace {

using KernelFn = void (*)(const void* const*, void* const*, void*, std::int64_t, std::int64_t,
                          std::int64_t);

struct Machine {
  KernelSchedule plan;
  std::vector<KernelFn> stages;
  std::unique_ptr<const LinkedCode> code;
  std::size_t code_bytes = 0;
  std::string key;
  ~Machine();
};
using MachinePtr = std::shared_ptr<const Machine>;

// Kernels that are in use or being compiled. Routines own the kernels.
struct KernelCache {
  struct Entry {
    std::shared_future<MachinePtr> coming;  // valid while it is being compiled
    std::weak_ptr<const Machine> machine;
  };
  std::mutex mutex;
  std::unordered_map<std::string, Entry> kernels;
  std::atomic<std::int64_t> compiled = 0, from_disk = 0, from_memory = 0, nanoseconds = 0;
};
KernelCache& cache() {
  static KernelCache& c = *new KernelCache;
  return c;
}

Machine::~Machine() {
  Locked lock(cache().mutex);
  auto it = cache().kernels.find(key);
  // The kernel may have been compiled again in the meantime.
  if (it != cache().kernels.end() && !it->second.coming.valid() && it->second.machine.expired())
    cache().kernels.erase(it);
}

std::string compile(const Program& p, const KernelSchedule& plan,
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

bool results_exceed_caches(const Program& p, std::int64_t times) {
  std::int64_t bytes = 0;
  for (Var v : p.outputs) bytes += p.type(v).bytes();
  return bytes >= (kPastCachesFrom + times - 1) / times;
}

std::string name_of(const Program& p) {
  std::string name;
  std::size_t more = 0;
  for (const Equation& e : p.equations) {
    if (e.op->literal || e.op->spreads) continue;
    if (name.size() > 48)
      ++more;
    else
      name += (name.empty() ? "" : "+") + e.op->name;
  }
  if (name.empty()) name = p.equations.empty() ? "copy" : p.equations.back().op->name;
  return more ? name + "+" + std::to_string(more) + " more" : name;
}

// Options with which a kernel is compiled, besides its program.
struct Form {
  bool any_length, past_caches;
};

MachinePtr make_machine(const Program& p, Form form, const std::string& key) {
  auto m = std::make_shared<Machine>();
  m->key = key;
  m->plan = schedule_kernel(p, form.any_length);
  if (form.past_caches) write_past_caches(m->plan, p);
  if (settings::flag("TESSERA_DUMP_LOOPS"))
    std::fputs(("kernel " + name_of(p) + "\n" + to_string(p, m->plan) + "\n").c_str(), stderr);
  if (m->plan.stages.empty()) return m;
  std::string id = cache_id(key);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < m->plan.stages.size(); ++i)
    names.push_back("tessera_" + id + "_" + std::to_string(i));
  std::optional<std::string> object = read_cached(id, key);
  if (object) {
    try {
      m->code = link_object(*object, names);
      ++cache().from_disk;
    } catch (const InternalError&) {
      object.reset();  // ignore a damaged file
    }
  }
  if (!object) {
    object = compile(p, m->plan, names);
    ++cache().compiled;
    write_cached(id, key, *object);
    m->code = link_object(*object, names);
  }
  m->code_bytes = object->size();
  for (void* address : m->code->addresses) m->stages.push_back(reinterpret_cast<KernelFn>(address));
  return m;
}

std::shared_ptr<const Routine> make_routine(const Program& p, const MachinePtr& machine,
                                            std::int64_t length) {
  const Machine& m = *machine;
  auto r = std::make_shared<Routine>();
  r->bytes = m.code_bytes;
  r->name = name_of(p);
  r->scratch_bytes = m.plan.scratch_bytes;
  r->in_place = m.plan.in_place;
  for (std::size_t i = 0; i < m.stages.size(); ++i) {
    StageSchedule s = m.plan.stages[i];
    if (length) set_length(s, length);
    r->seconds += s.seconds;
    Stage stage;
    stage.tasks = s.tasks();
    stage.run = [machine, fn = m.stages[i], units = s.units, step = s.units_per_task, length](
                    const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      fn(a.inputs, a.outputs, a.scratch, begin * step, std::min(end * step, units), length);
    };
    r->stages.push_back(std::move(stage));
  }
  return r;
}

}  // namespace

std::vector<std::shared_ptr<const Routine>> compile_kernels(std::span<const ProgramPtr> kernels,
                                                            std::span<const std::int64_t> times) {
  const Inside inside;
  struct Job {
    Canonical canonical;
    Form form;
    std::string key;
    std::promise<MachinePtr> promise;
  };
  std::vector<Job> jobs;
  std::vector<std::shared_future<MachinePtr>> machines(kernels.size());
  std::vector<std::int64_t> lengths(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    Canonical c = canonical_kernel(kernels[i]);
    lengths[i] = c.length;
    const Form form{c.length != 0,
                    results_exceed_caches(*kernels[i], times.empty() ? 1 : times[i])};
    std::string key = (form.any_length ? "n" : "s") + std::string(form.past_caches ? "p" : "c") +
                      kernel_key(*c.program);
    Locked lock(cache().mutex);
    KernelCache::Entry& entry = cache().kernels[key];
    if (MachinePtr made = entry.machine.lock()) {
      std::promise<MachinePtr> there;
      there.set_value(std::move(made));
      machines[i] = there.get_future().share();
      ++cache().from_memory;
      continue;
    }
    if (entry.coming.valid()) {
      ++cache().from_memory;
    } else {
      jobs.push_back({std::move(c), form, std::move(key), {}});
      entry.coming = jobs.back().promise.get_future().share();
    }
    machines[i] = entry.coming;
  }
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t i; (i = next++) < jobs.size();) {
      Job& j = jobs[i];
      try {
        MachinePtr made = make_machine(*j.canonical.program, j.form, j.key);
        {
          std::lock_guard lock(cache().mutex);
          cache().kernels[j.key] = {{}, made};
        }
        j.promise.set_value(std::move(made));
      } catch (...) {
        {
          std::lock_guard lock(cache().mutex);
          cache().kernels.erase(j.key);
        }
        j.promise.set_exception(std::current_exception());
      }
    }
  };
  std::vector<std::thread> helpers;
  std::size_t threads = std::min<std::size_t>(std::thread::hardware_concurrency(), jobs.size() / 2);
  try {
    for (std::size_t i = 1; i < threads; ++i)
      helpers.emplace_back([&] {
        const OnBehalf caller;
        work();
      });
  } catch (const std::system_error&) {
    // No more threads can be created; the existing ones do the work.
  }
  work();
  for (std::thread& t : helpers) t.join();
  std::vector<std::shared_ptr<const Routine>> routines;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    routines.push_back(make_routine(*kernels[i], machines[i].get(), lengths[i]));
  return routines;
}

bool is_emitted(const Equation& eqn) {
  return (eqn.op->lowering == Lowering::emitted && eqn.op->emit) ||
         eqn.op->lowering == Lowering::view;
}

KernelStats kernel_stats() {
  KernelCache& c = cache();
  return {c.compiled, c.from_disk, c.from_memory, 1e-9 * static_cast<double>(c.nanoseconds)};
}

}  // namespace tessera::inline v0::codegen
