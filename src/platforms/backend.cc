#include "platforms/backend.h"

#include "ir/nested.h"
#include "ir/op.h"
#include "ops/control/host_call.h"
#include "platforms/maps.h"
#include "runtime/buffer.h"
#include "runtime/host/memory_limit.h"

#include <algorithm>
#include <utility>

namespace tessera::inline v0::platforms {

namespace {

runtime::Placed placed(const Type& block, Sent sent) {
  const auto bytes = static_cast<std::size_t>(block.bytes());
  return {{runtime::Buffer::remote(std::move(sent.buffer), bytes), 0}, std::move(sent.arrived)};
}

// Runs a transfer of a block; a failure becomes the error that users see.
template <class F>
auto transfer(const FarBackend& backend, const char* function, const Type& block, int device,
              F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const Failure& failure) {
    const std::string asked = to_string(Type(block.dtype, block.shape)) + ", " +
                              runtime::bytes_text(static_cast<double>(block.bytes())) + ", on " +
                              runtime::device_text(backend.platform(), device);
    std::rethrow_exception(backend.client().device_error(function, failure, asked, device));
  }
}

bool communicates(const Program& p) {
  return std::any_of(p.equations.begin(), p.equations.end(), [](const Equation& e) {
    return e.op->lowering == Lowering::collective || e.op->position ||
           any_nested(e.attrs, [](const ProgramPtr& q) { return communicates(*q); });
  });
}

// The buffer to which the runtime's handle refers.
RemoteBufferPtr held(const runtime::Shard& shard) {
  // The runtime's buffer keeps the handle alive, so it is enough to hold that.
  return {shard.buffer, static_cast<RemoteBuffer*>(shard.buffer->handle())};
}

}  // namespace

FarBackend::FarBackend(std::string name, std::unique_ptr<const Client> client,
                       const stablehlo::Target& target)
    : Backend(std::move(name)), client_(std::move(client)), target_(target) {}

runtime::MemoryStats FarBackend::memory_stats(int device) const {
  try {
    return client_->memory_stats(device);
  } catch (const Failure& failure) {
    std::rethrow_exception(client_->device_error("memory_stats", failure));
  }
}

std::optional<runtime::PlannedMemory> FarBackend::plan_memory(
    const Program& program, const std::vector<bool>& donated) const {
  // A program for several devices cannot be compiled for one of them alone.
  if (!meshes_of(program).empty() || communicates(program)) return std::nullopt;
  const auto compiled = runtime::find_backend(platform())
                            ->compile(std::make_shared<const Program>(program),
                                      {.name = program.name, .donated = donated});
  return static_cast<const FarExecutable&>(*compiled).planned();
}

std::shared_ptr<const runtime::Executable> FarBackend::compile(
    const ProgramPtr& program, const runtime::CompileOptions& options) {
  const std::uint64_t hash = hash_of(*program);
  const unsigned mode = compile_mode();
  if (auto found = compiled_.find(hash, *program, options, mode)) return found;
  auto made = std::make_shared<const FarExecutable>(*this, *client_, target_, program, options);
  // A host function may own any objects, so a program is equal only to programs with the same
  // function.
  if (!ops::calls_host(*program)) compiled_.insert(hash, mode, made);
  return made;
}

runtime::Placed FarBackend::to_device(const Type& block, const runtime::Shard& host, int device) {
  return transfer(*this, "device_put", block, device, [&] {
    return placed(
        block, client_->send(block, host.buffer->host_data() + host.offset, host.buffer, device));
  });
}

std::shared_ptr<runtime::Completion> FarBackend::to_host(const Type& block,
                                                         const runtime::Shard& from,
                                                         std::byte* host) {
  return transfer(*this, "device_get", block, held(from)->device(),
                  [&] { return client_->fetch(block, held(from), host); });
}

runtime::Placed FarBackend::copy(const Type& block, const runtime::Shard& from, int device) {
  return transfer(*this, "device_put", block, device, [&]() -> runtime::Placed {
    const RemoteBufferPtr buffer = held(from);
    if (buffer->device() != device) return placed(block, client_->copy(*buffer, device));
    // Contents never change, so arrays on one device may share memory.
    buffer->share();
    return {{runtime::Buffer::remote(buffer, static_cast<std::size_t>(block.bytes())), 0}, nullptr};
  });
}

}  // namespace tessera::inline v0::platforms
