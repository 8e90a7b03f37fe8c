// A call of an executable.
//
// The blocks of an argument, one on each device, are joined into one array of the runtime that
// shares their memory; the blocks of a result become buffers in the same way. No block is copied.
#include "pjrt/executable.h"

#include "runtime/backend.h"
#include "runtime/claim.h"
#include "runtime/holds.h"

#include <tessera/inline_vector.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

namespace tessera::inline v0::pjrt {

using runtime::ArrayData;
using runtime::ArrayDataPtr;

namespace {

struct CallOfProgram {
  const PJRT_LoadedExecutable& executable;
  const Compiled& compiled;
  const PJRT_LoadedExecutable_Execute_Args& args;
  std::vector<bool> taken;  // by argument

  const Argument& argument(std::size_t i) const { return compiled.arguments[i]; }
  PJRT_Buffer& buffer(std::size_t device, std::size_t i) const {
    return *args.argument_lists[device][i];
  }
  PJRT_Device* device(std::size_t d) const {
    PJRT_Device* const chosen = has_field(args, &PJRT_LoadedExecutable_Execute_Args::execute_device)
                                    ? args.execute_device
                                    : nullptr;
    return chosen ? chosen : executable.devices[d];
  }
  std::size_t devices() const { return args.num_devices; }
};

std::string block_text(const Element& element, const Shape& shape) {
  std::string text(element.spelling);
  text += '[';
  for (std::size_t d = 0; d < shape.size(); ++d) text += (d ? "," : "") + std::to_string(shape[d]);
  return text + ']';
}

void check_arguments(const CallOfProgram& call) {
  const Compiled& c = call.compiled;
  if (call.executable.is_deleted) refuse("Execute: the program '" + c.name + "' has been deleted");
  if (call.args.num_args != c.arguments.size())
    refuse("Execute: the program '" + c.name + "' takes " + std::to_string(c.arguments.size()) +
           " arguments, and gets " + std::to_string(call.args.num_args));
  if (call.devices() != c.device_count())
    refuse("Execute: the program '" + c.name + "' is for " + std::to_string(c.device_count()) +
           " devices, and gets arguments for " + std::to_string(call.devices()));
  for (std::size_t d = 0; d < call.devices(); ++d)
    for (std::size_t i = 0; i < c.arguments.size(); ++i) {
      const Argument& want = c.arguments[i];
      const PJRT_Buffer& got = call.buffer(d, i);
      if (want.is_token) continue;
      if (got.element != want.element || !(got.type.shape == want.block.shape))
        refuse("Execute: argument " + std::to_string(i) + " of the program '" + c.name + "' is " +
               block_text(*want.element, want.block.shape) + " on each device, and gets " +
               block_text(*got.element, got.type.shape));
    }
}

// A hash table of addresses, for calls with many arguments and results. It uses open addressing and
// is at most half full.
class Addresses {
 public:
  explicit Addresses(std::size_t most) : places_(std::bit_ceil(2 * most + 1)) {}

  /// Adds the address with a number. Returns the number that it was first added with.
  std::size_t add(const void* address, std::size_t number) {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = (reinterpret_cast<std::uintptr_t>(address) * kMultiplier) >> kShift & mask;
    while (places_[at].address && places_[at].address != address) at = (at + 1) & mask;
    if (!places_[at].address) places_[at] = {address, number};
    return places_[at].number;
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
  static constexpr int kShift = 32;
  struct Place {
    const void* address = nullptr;
    std::size_t number = 0;
  };
  std::vector<Place> places_;
};

// A donated buffer must not be another argument of the same call.
void check_taken_once(const CallOfProgram& call) {
  if (std::find(call.taken.begin(), call.taken.end(), true) == call.taken.end()) return;
  for (std::size_t d = 0; d < call.devices(); ++d) {
    Addresses seen(call.taken.size());
    for (std::size_t i = 0; i < call.taken.size(); ++i) {
      const std::size_t k = seen.add(&call.buffer(d, i), i);
      if (k == i || (!call.taken[i] && !call.taken[k])) continue;
      if (call.taken[i] && call.taken[k])
        refuse("Attempt to donate the same buffer twice in Execute() (flattened argument " +
               std::to_string(i) + ", replica " + std::to_string(d) +
               "). Give each donated argument an array of its own.");
      refuse(
          "Attempt to use a buffer that was previously donated in the same call to Execute() "
          "(flattened argument " +
          std::to_string(call.taken[i] ? k : i) + ", replica " + std::to_string(d) +
          "). Give the argument an array of its own.");
    }
  }
}

std::vector<bool> taken_by(const PJRT_LoadedExecutable_Execute_Args& args, const Compiled& c) {
  std::vector<bool> taken;
  for (const Argument& a : c.arguments) taken.push_back(a.is_taken);
  const PJRT_ExecuteOptions* o = args.options;
  if (o && has_field(*o, &PJRT_ExecuteOptions::num_non_donatable_input_indices))
    for (std::size_t k = 0; k < o->num_non_donatable_input_indices; ++k) {
      const auto i = static_cast<std::size_t>(o->non_donatable_input_indices[k]);
      if (i < taken.size()) taken[i] = false;
    }
  return taken;
}

// The arrays of the arguments' blocks: all of the first device, then all of the second.
std::vector<ArrayDataPtr> blocks_of(const CallOfProgram& call) {
  std::vector<ArrayDataPtr> blocks;
  blocks.reserve(call.devices() * call.compiled.arguments.size());
  for (std::size_t d = 0; d < call.devices(); ++d)
    for (std::size_t i = 0; i < call.compiled.arguments.size(); ++i) {
      if (call.argument(i).is_token) continue;
      ArrayDataPtr a = call.buffer(d, i).array();
      if (!a)
        refuse("Execute: argument " + std::to_string(i) + " of the program '" + call.compiled.name +
               "' has been deleted or donated");
      blocks.push_back(std::move(a));
    }
  return blocks;
}

[[noreturn]] void refuse_block(const CallOfProgram& call, std::size_t block) {
  std::vector<std::size_t> arrays;
  for (std::size_t i = 0; i < call.compiled.arguments.size(); ++i)
    if (!call.argument(i).is_token) arrays.push_back(i);
  refuse("Execute: argument " + std::to_string(arrays.at(block % arrays.size())) +
         " of the program '" + call.compiled.name + "' has been deleted or donated");
}

std::vector<ArrayDataPtr> run_on_one(const CallOfProgram& call, std::vector<ArrayDataPtr> inputs,
                                     const std::vector<bool>& given, std::uint32_t taker) {
  const Compiled& c = call.compiled;
  inputs.insert(inputs.end(), c.constants.begin(), c.constants.end());
  runtime::Holds holds(inputs, given, taker);
  if (const auto refused = holds.refused()) refuse_block(call, *refused);
  return c.executable->run(inputs, holds);
}

// The array made of one argument's blocks on all devices.
ArrayDataPtr joined(const Argument& argument, const std::vector<ArrayDataPtr>& blocks,
                    std::size_t first, std::size_t stride) {
  auto whole = std::make_shared<ArrayData>();
  whole->type = argument.whole;
  whole->layout = argument.layout;
  std::vector<std::shared_ptr<runtime::Completion>> pending;
  for (const int device : argument.layout->devices()) {
    const ArrayData& block = *blocks[first + static_cast<std::size_t>(device) * stride];
    whole->shards.push_back(block.shards.at(0));
    if (block.pending && !block.pending->done()) pending.push_back(block.pending);
  }
  // All blocks of a call's result share one completion.
  std::sort(pending.begin(), pending.end());
  pending.erase(std::unique(pending.begin(), pending.end()), pending.end());
  if (pending.size() == 1)
    whole->pending = pending[0];
  else if (!pending.empty())
    whole->pending = runtime::all_of(std::move(pending));
  return whole;
}

std::vector<ArrayDataPtr> run_on_several(const CallOfProgram& call,
                                         const std::vector<ArrayDataPtr>& blocks,
                                         const std::vector<bool>& given, std::uint32_t taker) {
  const Compiled& c = call.compiled;
  const std::size_t arrays = blocks.size() / call.devices();
  std::vector<bool> given_blocks;
  for (std::size_t d = 0; d < call.devices(); ++d)
    for (std::size_t i = 0; i < arrays; ++i) given_blocks.push_back(i < given.size() && given[i]);
  runtime::Holds holds(blocks, given_blocks, taker);
  if (const auto refused = holds.refused()) refuse_block(call, *refused);
  std::vector<ArrayDataPtr> inputs;
  std::size_t next = 0;
  for (const Argument& a : c.arguments) {
    if (a.is_token) continue;
    inputs.push_back(joined(a, blocks, next, arrays));
    if (next < given.size() && given[next]) {
      // A reader of one of the blocks keeps all of them from being overwritten.
      bool alone = true;
      for (std::size_t d = 0; d < call.devices(); ++d)
        alone = alone && holds.alone(d * arrays + next);
      if (!alone) inputs.back()->exposed.store(true);
    }
    ++next;
  }
  inputs.insert(inputs.end(), c.constants.begin(), c.constants.end());
  // The memory of donated blocks now belongs to the joined arrays alone.
  holds.keep();
  runtime::Holds of_whole(inputs, given, taker);
  return c.executable->run(inputs, of_whole);
}

PJRT_Memory* memory_for(const PJRT_Device& device, const Port& port) {
  for (PJRT_Memory* m : device.memories)
    if (m->description == port.memory) return m;
  return device.memories[0];
}

// The block of a result that a device has.
runtime::Shard block_for(const ArrayData& result, std::size_t device) {
  const std::vector<int>& devices = result.layout->devices();
  if (devices.size() == 1) return result.shards.at(0);
  const auto at = std::find(devices.begin(), devices.end(), static_cast<int>(device));
  return result.shards.at(static_cast<std::size_t>(at - devices.begin()));
}

// Finds results whose memory already belongs to another buffer of the caller: an argument that the
// program returns, or a result that it returns twice. Each result must have its own memory, because
// the caller may have lent the argument's memory, or may write to it from outside.
class Shared {
 public:
  /// Starts with the arguments' blocks on one device, without the donated ones.
  Shared(const CallOfProgram& call, const std::vector<ArrayDataPtr>& blocks, std::size_t device)
      : seen_(call.taken.size() + call.compiled.results.size()) {
    std::size_t next = device * (blocks.size() / call.devices());
    for (std::size_t i = 0; i < call.taken.size(); ++i) {
      if (call.argument(i).is_token) continue;
      const ArrayData& block = *blocks[next++];
      const runtime::Use use(block);
      if (!call.taken[i] && use) (void)seen_.add(block.shards.at(0).buffer.get(), kArgument);
    }
  }
  /// Whether the block of result r is the first with its memory on this device.
  bool is_first(const runtime::Shard& shard, std::size_t r) {
    return seen_.add(shard.buffer.get(), r) == r;
  }
  static Block copied(const Type& type, const ArrayData& result, runtime::Shard shard) {
    const auto bytes = static_cast<std::size_t>(type.bytes());
    runtime::Shard copy{runtime::Buffer::allocate(bytes), 0};
    const auto write = [from = std::move(shard), to = copy, bytes] {
      if (bytes) std::memcpy(bytes_of(to), bytes_of(from), bytes);
    };
    auto pending = when_written({copy, result.pending}, write);
    return {std::move(copy), std::move(pending)};
  }

 private:
  static constexpr std::size_t kArgument = ~std::size_t{0};
  Addresses seen_;
};

// The block of a result on device d, as a separate array. The result of a program for one device is
// such an array already, unless the program returned an argument or ran on another device.
// `is_last` means that no other device needs the result.
ArrayDataPtr block_of(ArrayDataPtr& result, std::size_t d, std::size_t r, const Port& port,
                      const PJRT_Memory& memory, Shared& shared, bool is_last) {
  runtime::Shard shard = block_for(*result, d);
  if (!shared.is_first(shard, r)) {
    Block copy = Shared::copied(port.block, *result, std::move(shard));
    return block_on(memory, port.block, std::move(copy.shard), std::move(copy.pending));
  }
  if (is_last && result.use_count() == 1 && !result->deleted() &&
      result->layout == layout_on(memory) && result->shards.size() == 1 &&
      result->type == port.block)
    return std::move(result);
  return block_on(memory, port.block, std::move(shard), result->pending);
}

// Waits for the end of the call, but only for a short time, and throws its error. As with jaxlib's
// client, the output of a short program then appears before its caller continues, and the call
// itself raises what one of its callbacks raised. The time is limited because a Python callback may
// itself wait for the caller.
void wait_a_moment(runtime::Completion& pending) {
  struct End {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_there = false;
    std::unique_ptr<PJRT_Error> error;
  };
  const auto end = std::make_shared<End>();
  pending.then([end](const std::exception_ptr& error) {
    const std::lock_guard lock(end->mutex);
    if (error) end->error.reset(error_of(error));
    end->is_there = true;
    end->changed.notify_one();
  });
  std::unique_lock lock(end->mutex);
  end->changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return end->is_there; });
  if (end->error) throw Failure(end->error->code, end->error->text);
}

}  // namespace

PJRT_Error* loaded_execute(PJRT_LoadedExecutable_Execute_Args* args) {
  return guarded([&] {
    const PJRT_LoadedExecutable& e = *args->executable;
    const Compiled& c = *e.compiled;
    const CallOfProgram call{e, c, *args, taken_by(*args, c)};
    check_arguments(call);
    check_taken_once(call);
    std::vector<bool> given;
    for (std::size_t i = 0; i < c.arguments.size(); ++i)
      if (!c.arguments[i].is_token) given.push_back(call.taken[i]);
    static const std::uint32_t kTaker = runtime::taker("a call of a program");
    std::vector<ArrayDataPtr> blocks = blocks_of(call);
    std::vector<Shared> shared;
    for (std::size_t d = 0; d < call.devices(); ++d) shared.emplace_back(call, blocks, d);
    std::vector<ArrayDataPtr> results = call.devices() == 1
                                            ? run_on_one(call, std::move(blocks), given, kTaker)
                                            : run_on_several(call, blocks, given, kTaker);
    for (std::size_t i = 0; i < c.arguments.size(); ++i)
      for (std::size_t d = 0; call.taken[i] && d < call.devices(); ++d) call.buffer(d, i).forget();

    const auto pending = results.at(0)->pending;
    if (c.calls_python && pending) wait_a_moment(*pending);

    std::size_t moved = 0;
    for (const Port& port : c.results) {
      if (port.is_token) continue;
      ArrayDataPtr& result = results[moved++];
      if (port.is_moved) result = runtime::relayout(result, port.layout);
    }
    for (std::size_t d = 0; d < call.devices(); ++d) {
      std::size_t next = 0;
      for (std::size_t r = 0; r < c.results.size(); ++r) {
        const Port& port = c.results[r];
        PJRT_Memory* const memory = memory_for(*call.device(d), port);
        ArrayDataPtr block;
        if (port.is_token) {
          static const runtime::BufferPtr nothing = runtime::Buffer::allocate(0);
          block = block_on(*memory, port.block, {nothing, 0}, pending);
        } else {
          block =
              block_of(results[next++], d, r, port, *memory, shared[d], d + 1 == call.devices());
        }
        args->output_lists[d][r] =
            new PJRT_Buffer(c.machine, memory, *port.element, std::move(block), port.order);
      }
      if (args->device_complete_events) args->device_complete_events[d] = make_event(pending);
    }
  });
}

}  // namespace tessera::inline v0::pjrt
