// Data sets: IDX files (MNIST, Fashion-MNIST and similar), shuffled batches, batches sharded over
// devices and processes, and prefetching.
#pragma once

#include <tessera/array.h>
#include <tessera/sharding.h>
#include <tessera/tree.h>
#include <functional>
#include <memory>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::data {

/// Reads an IDX file, gzipped or not: big-endian, magic 0 0 type rank, then the extents, then
/// row-major data. The types are signed and unsigned bytes, 16- and 32-bit integers, float32 and
/// float64. Throws an IoError that names the problem: a missing file, a wrong magic number, a size
/// that does not match the extents, or damaged compression.
TESSERA_API Array load_idx(const std::string& path,
                           std::source_location loc = std::source_location::current());

/// An IDX file whose entries are read on request, so that each of several processes can read only
/// its part. If the file is compressed, the first call reads all of it.
class TESSERA_API IdxFile {
 public:
  /// Reads the header. Throws IoError as load_idx does.
  explicit IdxFile(const std::string& path,
                   std::source_location loc = std::source_location::current());
  /// The shape of the whole file.
  const Shape& shape() const;
  DType dtype() const;
  /// Returns the entries at these positions of dimension 0, in this order. Throws ShapeError if a
  /// position does not exist, and IoError if the file has changed or cannot be read.
  Array rows(const std::vector<std::int32_t>& indices,
             std::source_location loc = std::source_location::current()) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// The images and labels of one set, uint8 (n, height, width) and uint8 (n,).
struct Images {
  Array images, labels;
};
/// Loads both files and checks that they match. `directory` holds `*-images-idx3-ubyte[.gz]` and
/// `*-labels-idx1-ubyte[.gz]`; the alphabetically first pair whose name begins with `prefix` is
/// loaded.
TESSERA_API Images load_images(const std::string& directory, const std::string& prefix = "",
                               std::source_location loc = std::source_location::current());

/// Splits a data set per class: the examples of each class are shuffled by `key`, and the first
/// `share` of them (rounded) goes to the first set. Holds the indices of both sets, shuffled.
struct Split {
  Array first, second;  // int32
};
TESSERA_API Split split_per_class(const Array& key, const Array& labels, double share,
                                  std::source_location loc = std::source_location::current());

/// What happens to the examples that do not fill the last batch.
enum class LastBatch {
  drop,  // they are left out
  pad,   // the batch is padded with the first examples, which have mask 0
};

/// The examples of one batch: int32 indices and a float32 mask, with one entry per example.
struct BatchIndices {
  std::vector<std::int32_t> indices;
  std::vector<float> mask;
};
/// The batches of one epoch, in a random order given by `key`, or in sequence if the key is an
/// empty array.
TESSERA_API std::vector<BatchIndices> batches(
    std::int64_t examples, std::int64_t batch, const Array& key = {},
    LastBatch last = LastBatch::drop, std::source_location loc = std::source_location::current());

/// Returns the examples of a batch that this process must read: those of its own devices, in order.
/// Dimension 0 of `sharding` is the batch dimension. make_array_from_process_local_data reassembles
/// the processes' parts, so that a batch is the same for any number of processes. Throws
/// ShardingError if the sharding does not divide the batch.
TESSERA_API std::vector<std::int32_t> process_part(
    const std::vector<std::int32_t>& batch, const Sharding& sharding,
    std::source_location loc = std::source_location::current());

/// An endless sequence of batches, with a different order in each epoch. Its position is a tree
/// that can be saved with the rest of a run; a resumed run continues with exactly the batches that
/// would have followed.
class TESSERA_API EpochBatches {
 public:
  struct Position {
    Array key;           // the key given to the constructor
    Array epoch, batch;  // int64, of the next batch, counted from 0
  };
  /// Epoch e is shuffled by fold_in(key, e); if the key is an empty array, examples come in
  /// sequence. Throws ShapeError as batches does, and if an epoch would have no batch.
  EpochBatches(std::int64_t examples, std::int64_t batch, const Array& key = {},
               LastBatch last = LastBatch::drop,
               std::source_location loc = std::source_location::current());
  const BatchIndices& next();
  Position position() const;
  /// Moves to the position and adopts its key. Throws ShapeError if these batches have no such
  /// position.
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

/// Splits x over `devices` along a new leading axis: (batch, ...) becomes (devices, batch /
/// devices, ...). If the batch is not divisible, throws a ShapeError with the nearest sizes that
/// would work.
TESSERA_API Array shard_batch(Operand x, std::int64_t devices);
/// Checks the leaves for the shard_batch of a tree, which splits each of them. Throws a ShapeError
/// that lists every leaf whose first axis does not divide over the devices.
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
  /// The next item, or null at the end. Rethrows an exception of the producer.
  std::shared_ptr<void> pop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
}  // namespace detail

/// Produces items ahead of time on one background thread, at most `depth` of them. `next` returns
/// an item, or an empty optional at the end; it may create arrays but must not trace. Destruction
/// stops the thread. A forked child has no such thread: there, `next` throws Error after the items
/// that were ready are used up.
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
