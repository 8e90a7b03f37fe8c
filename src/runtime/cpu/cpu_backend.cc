// The CPU platform, which always exists: virtual devices of this process that share the host's
// memory.
#include "runtime/backend.h"

#include "base/process.h"
#include "base/settings.h"
#include "ops/control/host_call.h"
#include "runtime/buffer.h"
#include "runtime/compiled_programs.h"
#include "runtime/cpu/tape_executable.h"
#include "runtime/host/arrays.h"
#include "runtime/host/devices.h"

#include <cstring>

namespace tessera::inline v0::runtime {
namespace {

class CpuBackend : public Backend {
 public:
  CpuBackend() : Backend("cpu") {}

  int device_count() const override { return runtime::device_count(); }
  int process_of(int device) const override { return runtime::process_of(device); }
  void settle_devices() override { runtime::settle_devices(); }
  MemoryStats memory_stats(int device) const override { return runtime::memory_stats(device); }
  unsigned mode() const override {
    const bool evaluate = settings::flag("TESSERA_EVALUATE") || process_is_ending();
    const bool splits = PhaseBytes::now() == 0;
    return (isolated() ? 1u : 0u) | (evaluate ? 2u : 0u) | (splits ? 4u : 0u);
  }

  std::shared_ptr<const Executable> compile(const ProgramPtr& p,
                                            const CompileOptions& options) override {
    // Read the settings first: they may cause a warning, whose handler must not run in an Inside.
    const bool isolate = isolated(), asked = settings::flag("TESSERA_EVALUATE");
    const Inside inside;
    const bool evaluate = asked || !Inside::libraries();
    const std::uint64_t hash = hash_of(*p);
    const unsigned mode = (isolate ? 1u : 0u) | (evaluate ? 2u : 0u);
    if (auto found = compiled_.find(hash, *p, options, mode)) return found;
    auto made =
        std::make_shared<const TapeExecutable>(p, options, tape::Apart{isolate, {}}, evaluate);
    library_was_used();
    // A host function may own any objects, so a program is equal only to programs with the same
    // function.
    if (ops::calls_host(*p)) return made;
    compiled_.insert(hash, mode, made);
    return made;
  }

  // All devices read host memory, so no data moves.
  Placed to_device(const Type& block, const Shard& host, int device) override {
    return copy(block, host, device);
  }
  std::shared_ptr<Completion> to_host(const Type& block, const Shard& from,
                                      std::byte* host) override {
    if (const auto n = static_cast<std::size_t>(block.bytes()))
      std::memcpy(host, from.buffer->host_data() + from.offset, n);
    return nullptr;
  }
  Placed copy(const Type& block, const Shard& from, int device) override {
    Shard view{Buffer::share(from.buffer), from.offset};
    view.buffer->charge(intern(on_device(device, false, this)), block.bytes());
    return {std::move(view), nullptr};
  }
  ArrayDataPtr place(const ArrayData& a, const LayoutPtr& layout) override {
    return place_on_host(a, layout);
  }
  void read(const ArrayData& /*a*/, const spmd::Blocks& blocks, std::span<const Shard* const> from,
            std::byte* whole) override {
    read_on_host(blocks, from, whole);
  }

 private:
  CompiledPrograms<TapeExecutable> compiled_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace tessera::inline v0::runtime
