// Reads arrays of platforms that have separate memory.
#include "base/box_copy.h"
#include "runtime/array_data.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"
#include "spmd/place/blocks.h"

#include <utility>
#include <vector>

namespace tessera::inline v0::runtime {

namespace {

// Transfers into or out of memory of this scope.
class Transfers {
 public:
  ~Transfers() {  // even after an error, wait until no transfer writes any more
    try {
      wait();
    } catch (...) {
    }
  }
  void add(std::shared_ptr<Completion> transfer) { under_way_.push_back(std::move(transfer)); }
  void wait() {
    if (const auto all = all_of(std::exchange(under_way_, {}))) all->wait();
  }

 private:
  std::vector<std::shared_ptr<Completion>> under_way_;
};

}  // namespace

// Transfers all blocks concurrently.
void Backend::read(const ArrayData& a, const spmd::Blocks& blocks,
                   std::span<const Shard* const> from, std::byte* whole) {
  const Type block(a.type.dtype, blocks.block(), a.type.weak);
  const auto bytes = static_cast<std::size_t>(blocks.block_bytes());
  const bool in_place = blocks.contiguous();
  const BufferPtr parts = in_place ? nullptr : Buffer::allocate(bytes * from.size());
  {
    Transfers transfers;
    for (std::size_t b = 0; b < from.size(); ++b)
      transfers.add(to_host(block, *from[b],
                            in_place ? whole + blocks.offset_of(static_cast<std::int64_t>(b))
                                     : parts->host_data() + b * bytes));
    transfers.wait();
  }
  if (in_place) return;
  BoxCopy copy = blocks.gather();
  for (std::size_t b = 0; b < from.size(); ++b)
    copy.run(parts->host_data() + b * bytes,
             whole + blocks.offset_of(static_cast<std::int64_t>(b)));
}

}  // namespace tessera::inline v0::runtime
