// Implements runtime/buffer.h and blocks.h.
#include "runtime/buffer.h"

#include "base/message.h"
#include "base/process.h"
#include "runtime/executable.h"
#include "runtime/host/accounting.h"
#include "runtime/host/blocks.h"
#include "runtime/host/devices.h"
#include "runtime/host/memory_limit.h"
#include "runtime/host/recycled.h"
#include "runtime/host/sanitizers.h"
#include "runtime/host/small_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace tessera::inline v0::runtime {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHuge = std::size_t{2} << 20;
// The free memory that the pool keeps in addition to half of the memory in use. A program whose
// temporaries fit finds warm pages at each call; a fresh page costs as much as writing it several
// times.
std::size_t kept_free() {
  return std::max(std::size_t{512} << 20, static_cast<std::size_t>(memory_limit()) / 16);
}

// Four size classes per power of two, so that at most a quarter of a block is wasted.
constexpr int kClasses = 4 * 64;
struct SizeClass {
  int index;
  std::size_t bytes;
};
SizeClass class_of(std::size_t bytes) {
  if (bytes <= 64) return {0, 64};
  int log = std::bit_width(bytes - 1) - 1;  // bytes in (2^log, 2^(log+1)]
  std::size_t base = std::size_t{1} << log, quarter = base / 4;
  std::size_t k = (bytes - base + quarter - 1) / quarter;
  return {(log - 6) * 4 + static_cast<int>(k), base + k * quarter};
}

std::size_t bytes_of(int index) {
  std::size_t base = std::size_t{64} << (index / 4);
  return base + base / 4 * static_cast<std::size_t>(index % 4);
}

// There is one pool for the process, because the limit is on its memory.
class Pool {
 public:
  Pool() { hold_over_fork(mutex_); }

  Block acquire(std::size_t bytes) {
    // The system would overcommit, and kill the process when it writes to the memory.
    const auto limit = static_cast<std::size_t>(memory_limit());
    if (bytes > limit) throw std::bad_alloc();
    SizeClass c = class_of(bytes);
    Block block{nullptr, c.bytes};
    if (c.index < SmallBlocks::kClasses) block.data = SmallBlocks::take(c.index);
    if (!block.data) find(block, c, bytes, limit);
    sanitizers::given_out(block.data, bytes, c.bytes);
    count_physical(static_cast<std::int64_t>(c.bytes));
    return block;
  }

  void release(Block block) {
    count_physical(-static_cast<std::int64_t>(block.capacity));
    sanitizers::given_back(block.data, block.capacity);
    const int index = class_of(block.capacity).index;
    if (index >= SmallBlocks::kClasses || !SmallBlocks::keep(index, block.data))
      put_back(block.data, index);
  }

  void put_back(std::byte* block, int index) {
    const std::size_t bytes = bytes_of(index);
    std::size_t most = keep_ + static_cast<std::size_t>(physical_live()) / 2;
    std::vector<std::byte*> dropped;
    {
      std::lock_guard lock(mutex_);
      free_[index].push_back({block, ++releases_});
      free_bytes_ += bytes;
      used_ -= bytes;
      while (free_bytes_ > most && drop_oldest(dropped)) {
      }
    }
    for (std::byte* d : dropped) std::free(d);
  }

 private:
  void find(Block& block, SizeClass c, std::size_t bytes, std::size_t limit) {
    std::vector<std::byte*> dropped;
    {
      std::lock_guard lock(mutex_);
      if (bytes > limit - std::min(limit, used_)) throw std::bad_alloc();
      auto& list = free_[c.index];
      if (!list.empty()) {
        block.data = list.back().data;
        list.pop_back();
        free_bytes_ -= c.bytes;
      } else {
        while (used_ + free_bytes_ + c.bytes > limit && drop_oldest(dropped)) {
        }
      }
      used_ += c.bytes;
    }
    for (std::byte* d : dropped) std::free(d);
    if (!block.data) {
      try {
        block.data = fresh(c.bytes);
      } catch (const std::bad_alloc&) {
        std::lock_guard lock(mutex_);
        used_ -= c.bytes;
        throw;
      }
    }
  }

  static std::byte* fresh(std::size_t bytes) {
    std::size_t alignment = bytes >= kHuge ? kHuge : kAlignment;
    void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!p) throw std::bad_alloc();
    if (bytes >= kHuge) madvise(p, bytes, MADV_HUGEPAGE);
    return static_cast<std::byte*>(p);
  }

  // Drops the large free block that was released first, as the current programs have no use for it.
  // Returns false if there is none.
  bool drop_oldest(std::vector<std::byte*>& dropped) {
    std::vector<Free>* oldest = nullptr;
    for (int i = class_of(kHuge).index; i < kClasses; ++i)
      if (!free_[i].empty() && (!oldest || free_[i].front().released < oldest->front().released))
        oldest = &free_[i];
    if (!oldest) return false;
    dropped.push_back(oldest->front().data);
    free_bytes_ -= bytes_of(static_cast<int>(oldest - free_));
    oldest->erase(oldest->begin());
    return true;
  }

  struct Free {
    std::byte* data;
    std::uint64_t released;  // release counter; ascending in each list
  };
  const std::size_t keep_ = kept_free();
  std::mutex mutex_;
  std::vector<Free> free_[kClasses];
  std::size_t free_bytes_ = 0, used_ = 0;
  std::uint64_t releases_ = 0;
};

Pool& pool() {
  static Pool* p = new Pool;  // leaked, because arrays may outlive main's statics
  return *p;
}

// Guards the first sharing of a buffer, which moves its block to a shared owner.
std::mutex& sharing() {
  static std::mutex* m = [] {
    auto* made = new std::mutex;
    hold_over_fork(*made);
    return made;
  }();
  return *m;
}

struct Lent {
  std::shared_ptr<void> owner;
  std::int64_t bytes;
  Lent(std::shared_ptr<void> o, std::int64_t n) : owner(std::move(o)), bytes(n) {
    count_physical(bytes);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() { count_physical(-bytes); }
};

}  // namespace

struct BufferAccess {
  struct Concrete : Buffer {};
  static std::shared_ptr<Buffer> make() {
    return std::allocate_shared<Concrete>(Recycled<Concrete>());
  }
};

namespace {
thread_local std::string_view allocating = "Array";
}
AllocatingFor::AllocatingFor(std::string_view name) : before_(allocating) { allocating = name; }
AllocatingFor::~AllocatingFor() { allocating = before_; }

namespace {
Block acquire(std::size_t bytes) {
  try {
    return pool().acquire(bytes);
  } catch (const std::bad_alloc&) {
    if (!drop_forms()) throw;
    return pool().acquire(bytes);
  }
}
}  // namespace

Block acquire_block(std::size_t bytes) {
  try {
    return acquire(bytes);
  } catch (const std::bad_alloc&) {
    const auto text = [](auto n) { return bytes_text(static_cast<double>(n)); };
    Message(allocating)
        .problem("there is no memory for " + std::to_string(bytes) + " bytes, " + text(bytes) +
                 ": there are " + text(memory_limit()) + ", and what is alive has " +
                 text(physical_live()))
        .rule("an array's elements lie in one piece of memory, as do all temporaries of a call")
        .from(CallerLine::now())
        .advice("make the arrays smaller, or let go of some: memory_table() says what is held")
        .raise<DeviceError>();
  }
}
void release_block(Block block) { pool().release(block); }
void give_to_pool(std::byte* block, int size_class) { pool().put_back(block, size_class); }

BufferPtr Buffer::allocate(std::size_t bytes) {
  BufferPtr b = BufferAccess::make();
  const Block block = acquire_block(bytes);
  b->data_ = block.data;
  b->size_ = bytes;
  b->capacity_ = block.capacity;
  return b;
}

BufferPtr Buffer::adopt(void* data, std::size_t bytes, std::shared_ptr<void> owner, bool fixed) {
  BufferPtr b = BufferAccess::make();
  b->data_ = static_cast<std::byte*>(data);
  b->size_ = bytes;
  b->lent_ = true;
  b->fixed_ = fixed;
  b->owner_ = std::make_shared<Lent>(std::move(owner), static_cast<std::int64_t>(bytes));
  return b;
}

BufferPtr Buffer::remote(std::shared_ptr<void> handle, std::size_t bytes) {
  BufferPtr b = BufferAccess::make();
  b->host_ = false;
  b->size_ = bytes;
  b->owner_ = std::move(handle);
  return b;
}

void Buffer::not_host() {
  throw InternalError("a buffer of another platform is read as host memory");
}

BufferPtr Buffer::share(const BufferPtr& buffer) {
  BufferPtr b = BufferAccess::make();
  b->host_ = buffer->host_;
  b->lent_ = buffer->lent_;
  b->fixed_ = buffer->fixed_;
  b->data_ = buffer->data_;
  b->size_ = buffer->size_;
  std::lock_guard lock(sharing());
  if (buffer->capacity_) {
    buffer->owner_ = std::make_shared<ScopedBlock>(Block{buffer->data_, buffer->capacity_});
    buffer->capacity_ = 0;
  }
  b->owner_ = buffer->owner_;
  return b;
}

bool Buffer::is_shared() const {
  std::lock_guard lock(sharing());
  return owner_.use_count() > 1;
}

Forms* Buffer::forms() {
  if (!fixed_ || !host_) return nullptr;
  Forms* now = forms_.load(std::memory_order_acquire);
  if (now) return now;
  auto made = std::make_unique<Forms>();
  if (forms_.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel))
    return made.release();
  return now;
}

void Buffer::forget_forms() {
  if (Forms* const f = forms_.load(std::memory_order_acquire)) f->forget();
}

Buffer::~Buffer() {
  delete forms_.load(std::memory_order_acquire);
  if (charged_) own_devices().charge(*charged_, -charge_, -1);
  if (capacity_) release_block({data_, capacity_});
}

void Buffer::charge(const LayoutPtr& layout, std::int64_t bytes_per_device) {
  own_devices().charge(*layout, bytes_per_device, 1);
  charged_ = layout;
  charge_ = bytes_per_device;
}

}  // namespace tessera::inline v0::runtime
