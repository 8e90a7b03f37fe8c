#include <tessera/data.h>
#include <tessera/detail/moved.h>
#include <tessera/message.h>
#include <tessera/random.h>

namespace tessera::inline v0::data {

namespace {

// A strong int64, so that it is restored from a file with the same type.
Array number(std::int64_t n) { return Array::from_bytes(DType::int64, {}, &n); }

}  // namespace

EpochBatches::EpochBatches(std::int64_t examples, std::int64_t batch, const Array& key,
                           LastBatch last, std::source_location loc)
    : examples_(examples), size_(batch), key_(key), last_(last), loc_(loc) {
  const InFunction called("EpochBatches", loc);
  begin_epoch();
  if (batches_.empty())
    Message("EpochBatches")
        .problem(std::to_string(examples) + " examples make no batch of " + std::to_string(batch))
        .rule("an epoch has a batch at least")
        .from(loc)
        .advice("a smaller batch, or LastBatch::pad")
        .raise<ShapeError>();
}

void EpochBatches::begin_epoch() {
  batches_ = batches(examples_, size_, key_.is_empty() ? key_ : random::fold_in(key_, epoch_),
                     last_, loc_);
  at_ = 0;
}

namespace {
// An epoch has at least one batch, so an empty list means that the object was moved from.
void need(const std::vector<BatchIndices>& batches, const std::source_location& loc = {}) {
  if (batches.empty()) tessera::detail::moved_from("EpochBatches", loc);
}
}  // namespace

const BatchIndices& EpochBatches::next() {
  need(batches_);
  if (at_ == batches_.size()) {
    ++epoch_;
    begin_epoch();
  }
  return batches_[at_++];
}

EpochBatches::Position EpochBatches::position() const {
  need(batches_);
  const bool over = at_ == batches_.size();
  return {key_, number(epoch_ + (over ? 1 : 0)), number(over ? 0 : static_cast<std::int64_t>(at_))};
}

void EpochBatches::seek(const Position& position, std::source_location loc) {
  const InFunction called("EpochBatches::seek", loc);
  need(batches_, loc);
  const auto epoch = position.epoch.item<std::int64_t>(),
             batch = position.batch.item<std::int64_t>();
  const auto count = static_cast<std::int64_t>(batches_.size());
  if (epoch < 0 || batch < 0 || batch >= count)
    Message("EpochBatches::seek")
        .problem("the position is batch " + std::to_string(batch) + " of epoch " +
                 std::to_string(epoch))
        .rule("epochs count from 0, and each has the batches 0 to " + std::to_string(count - 1))
        .from(loc)
        .advice("make it of as many examples, and batches of the size, as when it was saved")
        .raise<ShapeError>();
  key_ = position.key;
  epoch_ = epoch;
  begin_epoch();
  at_ = static_cast<std::size_t>(batch);
}

}  // namespace tessera::inline v0::data
