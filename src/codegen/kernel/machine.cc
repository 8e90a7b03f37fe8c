#include "codegen/kernel/machine.h"

#include "base/message.h"
#include "base/process.h"
#include "codegen/kernel/disk_cache.h"
#include "codegen/kernel/kernel.h"
#include "codegen/kernel/llvm_ir.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>

namespace tessera::inline v0::codegen {

namespace {

// Machines that are in use or being compiled. Routines own them.
struct MachineCache {
  struct Entry {
    std::shared_future<MachinePtr> coming;  // valid while it is being compiled
    std::weak_ptr<const Machine> machine;
  };
  std::mutex mutex;
  std::unordered_map<std::string, Entry> machines;
  std::atomic<std::int64_t> compiled = 0, from_disk = 0, from_memory = 0, nanoseconds = 0;
};
MachineCache& cache() {
  static MachineCache& c = *new MachineCache;
  return c;
}

std::string compile(const MachineRequest& request, const Machine& machine, SymbolNames names) {
  auto start = std::chrono::steady_clock::now();
  llvm::LLVMContext context;
  llvm::Module module(names[0], context);
  configure_module(module);
  request.emit(machine, module, names);
  std::string object = compile_object(module, request.effort);
  cache().nanoseconds += (std::chrono::steady_clock::now() - start).count();
  return object;
}

MachinePtr make_machine(const MachineRequest& request) {
  auto m = std::make_shared<Machine>();
  m->key = request.key;
  const std::size_t functions = request.plan(*m);
  if (functions == 0) return m;
  std::string id = cache_id(m->key);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < functions; ++i)
    names.push_back("tessera_" + id + "_" + std::to_string(i));
  std::optional<std::string> object = read_cached(id, m->key);
  if (object) {
    try {
      m->code = link_object(*object, names);
      if (request.counted) ++cache().from_disk;
    } catch (const InternalError&) {
      object.reset();  // ignore a damaged file
    }
  }
  if (!object) {
    object = compile(request, *m, names);
    if (request.counted) ++cache().compiled;
    write_cached(id, m->key, *object);
    m->code = link_object(*object, names);
  }
  m->code_bytes = object->size();
  return m;
}

}  // namespace

Machine::~Machine() {
  Locked lock(cache().mutex);
  auto it = cache().machines.find(key);
  // It may have been compiled again in the meantime.
  if (it != cache().machines.end() && !it->second.coming.valid() && it->second.machine.expired())
    cache().machines.erase(it);
}

std::vector<MachinePtr> make_machines(std::vector<MachineRequest> requests) {
  const Inside inside;
  struct Job {
    MachineRequest request;
    std::promise<MachinePtr> promise;
  };
  std::vector<Job> jobs;
  std::vector<std::shared_future<MachinePtr>> coming(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Locked lock(cache().mutex);
    MachineCache::Entry& entry = cache().machines[requests[i].key];
    if (MachinePtr made = entry.machine.lock()) {
      std::promise<MachinePtr> there;
      there.set_value(std::move(made));
      coming[i] = there.get_future().share();
      if (requests[i].counted) ++cache().from_memory;
      continue;
    }
    if (entry.coming.valid()) {
      if (requests[i].counted) ++cache().from_memory;
    } else {
      jobs.push_back({std::move(requests[i]), {}});
      entry.coming = jobs.back().promise.get_future().share();
    }
    coming[i] = entry.coming;
  }
  // Long programs first, so that no thread is left with one when the others have finished. The
  // length of the key is that of the program.
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return a.request.key.size() > b.request.key.size();
  });
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t i; (i = next++) < jobs.size();) {
      Job& j = jobs[i];
      try {
        MachinePtr made = make_machine(j.request);
        {
          std::lock_guard lock(cache().mutex);
          cache().machines[j.request.key] = {{}, made};
        }
        j.promise.set_value(std::move(made));
      } catch (...) {
        {
          std::lock_guard lock(cache().mutex);
          cache().machines.erase(j.request.key);
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
    // No more threads can be created, so the existing ones do the work.
  }
  work();
  for (std::thread& t : helpers) t.join();
  std::vector<MachinePtr> machines;
  for (const auto& c : coming) machines.push_back(c.get());
  return machines;
}

KernelStats kernel_stats() {
  MachineCache& c = cache();
  return {c.compiled, c.from_disk, c.from_memory, 1e-9 * static_cast<double>(c.nanoseconds)};
}

}  // namespace tessera::inline v0::codegen
