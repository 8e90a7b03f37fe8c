#include <tessera/data.h>
#include <tessera/device.h>
#include <tessera/distributed.h>
#include <tessera/manipulation.h>
#include <tessera/message.h>
#include <tessera/random.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace tessera::inline v0::data {

namespace {

std::vector<std::int32_t> shuffled(const Array& key, std::int64_t n) {
  return random::permutation(key, n).to_vector<std::int32_t>();
}

std::string sizes_that_work(std::int64_t batch, std::int64_t devices) {
  std::int64_t below = batch / devices * devices, above = below + devices;
  return below > 0 ? std::to_string(below) + " or " + std::to_string(above) : std::to_string(above);
}

// Throws DeviceError if there is not enough memory for the batches.
void need_memory(std::int64_t examples, std::int64_t batch, LastBatch last, const SourceLoc& loc) {
  const std::int64_t count =
      examples / batch + (last == LastBatch::pad && examples % batch ? 1 : 0);
  const double each = static_cast<double>(sizeof(BatchIndices)) +
                      static_cast<double>(sizeof(std::int32_t) + sizeof(float)) *
                          static_cast<double>(batch),
               bytes = each * static_cast<double>(count);
  const auto limit = static_cast<double>(memory_limit());
  if (bytes <= limit) return;
  Message("batches")
      .problem(fmt::format("there is no memory for {:.0f} bytes: {} of {} from {} examples", bytes,
                           count == 1 ? "a batch" : std::to_string(count) + " batches", batch,
                           examples))
      .rule(fmt::format("a batch takes 8 bytes an example, and the machine has {:.1f} GiB",
                        limit / (1 << 30)))
      .from(loc)
      .advice("make the batch no larger than the set, or cut the set into parts")
      .raise<DeviceError>();
}

}  // namespace

Split split_per_class(const Array& key, const Array& labels, double share,
                      std::source_location loc) {
  const InFunction called("split_per_class", loc);
  if (labels.ndim() != 1 || !is_integer(labels.dtype()) || !(share >= 0 && share <= 1))
    Message("split_per_class")
        .problem("labels are " + describe(labels) + ", the share " + to_string(Array(share)))
        .rule("labels are integers of shape (n,), the share is between 0 and 1")
        .from(loc)
        .advice("0.8 for four fifths; argmax over the last axis of one-hot labels")
        .raise<ShapeError>();
  std::vector<std::int32_t> of = labels.astype(DType::int32).to_vector<std::int32_t>();
  std::vector<std::int32_t> order =
      shuffled(random::fold_in(key, 0), static_cast<std::int64_t>(of.size()));
  std::map<std::int32_t, std::int64_t> size, taken;
  for (std::int32_t label : of) ++size[label];
  // One pass in random order: the first examples of each class go to the first set, so that both
  // sets are shuffled.
  std::vector<std::int32_t> first, second;
  for (std::int32_t i : order) {
    std::int32_t label = of[static_cast<std::size_t>(i)];
    std::int64_t quota = std::llround(share * static_cast<double>(size[label]));
    (taken[label]++ < quota ? first : second).push_back(i);
  }
  return {Array(first), Array(second)};
}

std::vector<BatchIndices> batches(std::int64_t examples, std::int64_t batch, const Array& key,
                                  LastBatch last, std::source_location loc) {
  const InFunction called("batches", loc);
  if (batch < 1 || examples < 0)
    Message("batches")
        .problem("a batch of " + std::to_string(batch) + " from " + std::to_string(examples) +
                 " examples")
        .rule(examples < 0 ? "the number of examples is 0 or more"
                           : "a batch has at least one example")
        .from(loc)
        .advice(examples < 0 ? "pass the length of the data: x.length()" : "a batch of 64")
        .raise<ShapeError>();
  if (examples > INT32_MAX)
    Message("batches")
        .problem(std::to_string(examples) + " examples")
        .rule("indices are int32: at most 2147483647 examples")
        .from(loc)
        .advice("batches of parts of the set")
        .raise<ShapeError>();
  need_memory(examples, batch, last, loc);
  std::vector<std::int32_t> order(static_cast<std::size_t>(examples));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  if (!key.is_empty()) order = shuffled(key, examples);
  std::vector<BatchIndices> out;
  for (std::int64_t at = 0; at < examples; at += batch) {
    std::int64_t real = std::min(batch, examples - at);
    if (real < batch && last == LastBatch::drop) break;
    BatchIndices b;
    for (std::int64_t i = 0; i < batch; ++i) {
      b.indices.push_back(order[static_cast<std::size_t>((at + i) % examples)]);
      b.mask.push_back(i < real ? 1.0f : 0.0f);
    }
    out.push_back(std::move(b));
  }
  return out;
}

void check_shardable(const std::vector<Array>& leaves, const std::vector<std::string>& paths,
                     std::int64_t devices, std::source_location loc) {
  const InFunction called("shard_batch", loc);
  if (devices < 1)
    Message("shard_batch")
        .problem("a batch for " + std::to_string(devices) + " devices")
        .rule("there is at least one device")
        .from(loc)
        .advice("device_count()")
        .raise<ShapeError>();
  Message m("shard_batch");
  bool any = false;
  std::string advice;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].is_empty()) continue;
    const Shape& s = leaves[i].shape();
    if (!s.empty() && s[0] % devices == 0) continue;
    any = true;
    m.offender((paths.size() > i && !paths[i].empty() ? paths[i] : std::string("the batch")) +
               " has shape " + to_string(s) +
               (s.empty()
                    ? ", no batch axis"
                    : ": " + std::to_string(s[0]) + " = " + std::to_string(devices) + " x " +
                          std::to_string(s[0] / devices) + " + " + std::to_string(s[0] % devices)));
    if (!s.empty()) advice = sizes_that_work(s[0], devices);
  }
  if (!any) return;
  m.problem("the batch does not divide over " + std::to_string(devices) + " devices")
      .rule("the first axis of every leaf is a multiple of the number of devices")
      .from(loc)
      .advice(advice.empty() ? "give every leaf a batch axis"
                             : "a batch of " + advice + ", or pad it with a mask")
      .raise<ShapeError>();
}

std::vector<std::int32_t> process_part(const std::vector<std::int32_t>& batch,
                                       const Sharding& sharding, std::source_location loc) {
  const InFunction called("process_part", loc);
  // Only the sharding of the batch dimension matters, whatever the shape of the examples.
  const std::vector<PartitionSpec::Dim>& dims = sharding.spec().dims();
  const Sharding rows(sharding.mesh(), dims.empty() ? PartitionSpec() : P(dims[0]));
  const auto indices = rows.indices({std::ssize(batch)}, loc);
  std::set<std::pair<std::int64_t, std::int64_t>> own;
  for (std::size_t d = 0; d < indices.size(); ++d)
    if (process_of(sharding.devices()[d]) == process_index())
      own.emplace(*indices[d][0].start, *indices[d][0].stop);
  std::vector<std::int32_t> part;
  for (const auto& [begin, end] : own)
    part.insert(part.end(), batch.begin() + begin, batch.begin() + end);
  return part;
}

Array shard_batch(Operand x, std::int64_t devices) {
  const InFunction called("shard_batch", x.loc);
  check_shardable({x.array}, {""}, devices, x.loc);
  Shape shape = x.array.shape();
  shape[0] /= devices;
  shape.insert(shape.begin(), devices);
  return reshape(x, shape);
}

}  // namespace tessera::inline v0::data
