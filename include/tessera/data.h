// Data sets: IDX files (MNIST, Fashion-MNIST and the like), shuffled batches, batches cut for
// devices and for processes, prefetching.
#pragma once

#include <tessera/array.h>
#include <tessera/sharding.h>
#include <tessera/tree.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0::data {

/// Reads an IDX file, gzipped or not: big-endian, magic 0 0 type rank, then the extents, then
/// row-major data. Types: unsigned and signed bytes, 16- and 32-bit integers, float32 and float64.
/// IoError says what is wrong with the file: missing, wrong magic number, more or fewer bytes than
/// its extents say, damaged compression.
TESSERA_API Array load_idx(const std::string& path,
                           std::source_location loc = std::source_location::current());

/// An IDX file whose entries are read when they are asked for, a part of them by each of several
/// processes. Where it is compressed the first call reads all of it.
class TESSERA_API IdxFile {
 public:
  /// Reads the header. IoError as of load_idx.
  explicit IdxFile(const std::string& path,
                   std::source_location loc = std::source_location::current());
  /// Of the whole file.
  const Shape& shape() const;
  DType dtype() const;
  /// The entries at these positions of dimension 0, in this order. ShapeError where there is none,
  /// IoError where the file has changed or cannot be read.
  Array rows(const std::vector<std::int32_t>& indices,
             std::source_location loc = std::source_location::current()) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Images and labels of one set: uint8 (n, height, width) and uint8 (n,).
struct Images {
  Array images, labels;
};
/// Loads both and checks that they belong together. `directory` holds `*-images-idx3-ubyte[.gz]`
/// and `*-labels-idx1-ubyte[.gz]`; the first pair by name whose name begins with `prefix` is taken.
TESSERA_API Images load_images(const std::string& directory, const std::string& prefix = "",
                               std::source_location loc = std::source_location::current());

/// Splits per class: of each class the first `share` (rounded) of its examples in an order shuffled
/// by `key` go to the first set. Gives the indices of both sets, shuffled.
struct Split {
  Array first, second;  // int32
};
TESSERA_API Split split_per_class(const Array& key, const Array& labels, double share,
                                  std::source_location loc = std::source_location::current());

/// What happens to the examples that do not fill the last batch.
enum class LastBatch {
  drop,  // left out
  pad,   // filled up with the first examples, which the mask marks with 0
};

/// Which examples make each batch of an epoch: int32 indices and a float32 mask of one entry an
/// example.
struct BatchIndices {
  std::vector<std::int32_t> indices;
  std::vector<float> mask;
};
/// In random order by `key`; without one (an empty array) in order.
TESSERA_API std::vector<BatchIndices> batches(
    std::int64_t examples, std::int64_t batch, const Array& key = {},
    LastBatch last = LastBatch::drop, std::source_location loc = std::source_location::current());

/// What this process reads of a batch that lies by `sharding`, whose dimension 0 is the batch's:
/// the examples of its own devices, in order. make_array_from_process_local_data puts what they
/// hold together again, so that a batch is the same for any number of processes. ShardingError
/// where the sharding does not divide the batch.
TESSERA_API std::vector<std::int32_t> process_part(
    const std::vector<std::int32_t>& batch, const Sharding& sharding,
    std::source_location loc = std::source_location::current());

/// Batches of one epoch after the other, each in an order of its own, without end. Where it stands
/// is a tree, which is saved with the rest of a run: one that is taken up again there gets the
/// batches that the other would have got.
class TESSERA_API EpochBatches {
 public:
  struct Position {
    Array key;           // as it was given
    Array epoch, batch;  // int64: of the next batch, from 0
  };
  /// Epoch e is shuffled by fold_in(key, e); without a key (an empty array) examples come in order.
  /// ShapeError as of batches, and where an epoch has no batch.
  EpochBatches(std::int64_t examples, std::int64_t batch, const Array& key = {},
               LastBatch last = LastBatch::drop,
               std::source_location loc = std::source_location::current());
  const BatchIndices& next();
  Position position() const;
  /// Goes there; the key is the position's. ShapeError for one that these batches do not have.
  void seek(const Position& position, std::source_location loc = std::source_location::current());

 private:
  void begin_epoch();
  std::int64_t examples_, size_, epoch_ = 0;
  std::size_t at_ = 0;
  Array key_;
  LastBatch last_;
  std::source_location loc_;
  std::vector<BatchIndices> batches_;
};

/// x cut for `devices` along a new leading axis: (batch, ...) becomes (devices, batch / devices,
/// ...). ShapeError with the nearest batch sizes that would work when the batch is not divisible.
TESSERA_API Array shard_batch(Operand x, std::int64_t devices);
/// Every leaf of a tree; all are checked first, and the error lists each that does not fit.
TESSERA_API void check_shardable(const std::vector<Array>& leaves,
                                 const std::vector<std::string>& paths, std::int64_t devices,
                                 std::source_location loc);
template <class T>
requires(!std::convertible_to<T, Operand>) T
    shard_batch(const T& tree_, std::int64_t devices,
                std::source_location loc = std::source_location::current()) {
  check_shardable(tree::leaves(tree_), tree::paths(tree_), devices, loc);
  return tree::map([&](const Array& x) { return shard_batch(Operand(x, loc), devices); }, tree_);
}

namespace detail {
class TESSERA_API PrefetchQueue {
 public:
  PrefetchQueue(std::size_t depth, std::function<std::shared_ptr<void>()> next);
  ~PrefetchQueue();
  /// The next item, or null at the end. Rethrows what the producer threw.
  std::shared_ptr<void> pop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
}  // namespace detail

/// Makes items ahead on one background thread, at most `depth` of them. `next` gives an item or an
/// empty optional at the end; it may make arrays but must not trace. Destruction stops the thread.
/// In a child of fork there is no such thread: `next` throws Error once the items are used up that
/// were ready.
template <class T>
class Prefetch {
 public:
  Prefetch(std::function<std::optional<T>()> next, std::size_t depth = 2)
      : queue_(depth, [next = std::move(next)]() -> std::shared_ptr<void> {
          std::optional<T> item = next();
          return item ? std::make_shared<T>(std::move(*item)) : nullptr;
        }) {}
  std::optional<T> next() {
    std::shared_ptr<void> item = queue_.pop();
    return item ? std::optional<T>(std::move(*static_cast<T*>(item.get()))) : std::nullopt;
  }

 private:
  detail::PrefetchQueue queue_;
};

}  // namespace tessera::inline v0::data
