#include "runtime/host/copies.h"

#include "base/machine.h"
#include "base/past_caches.h"
#include "runtime/host/pool.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace tessera::inline v0::runtime {
namespace {

// Copies of equal boxes with adjacent lines, or a single copy.
struct Neighbours {
  const BoxCopy* box;
  std::vector<BoxCopy::Way> ways;
  std::int64_t bytes() const { return box->bytes() * std::ssize(ways); }
  // Whether the copy is one run of bytes, of which any part can be copied.
  bool is_run() const { return box->lines() == 1; }
  std::int64_t tasks() const {
    const std::int64_t most = is_run() ? box->bytes() / 64 : box->lines();
    return std::clamp<std::int64_t>(bytes() / machine::kCopyTask, 1,
                                    std::max<std::int64_t>(most, 1));
  }
};

// `at` selects the source or the destination, whose addresses are compared; `apart` tells whether a
// box's lines leave gaps there for those of others. Copies with neighbours move from `copies` to
// `found`.
template <class At, class Apart>
void find_neighbours(std::vector<const PlacedBox*>& copies, std::vector<Neighbours>& found, At at,
                     Apart apart) {
  std::sort(copies.begin(), copies.end(), [&](const PlacedBox* a, const PlacedBox* b) {
    return std::less<>()(at(a->way), at(b->way));
  });
  std::vector<const PlacedBox*> alone;
  for (std::size_t i = 0; i < copies.size();) {
    const BoxCopy& box = *copies[i]->box;
    std::size_t end = i + 1;
    while (apart(box) && end < copies.size() &&
           at(copies[end]->way) == at(copies[end - 1]->way) + box.line_bytes() &&
           (copies[end]->box == &box || *copies[end]->box == box))
      ++end;
    if (end - i > 1) {
      Neighbours some{&box, {}};
      for (std::size_t k = i; k < end; ++k) some.ways.push_back(copies[k]->way);
      found.push_back(std::move(some));
    } else {
      alone.push_back(copies[i]);
    }
    i = end;
  }
  copies = std::move(alone);
}

std::vector<Neighbours> neighbours_of(std::span<const PlacedBox> all) {
  std::vector<Neighbours> found;
  std::vector<const PlacedBox*> copies;
  for (const PlacedBox& c : all)
    if (c.box->bytes()) copies.push_back(&c);
  find_neighbours(
      copies, found, [](const BoxCopy::Way& w) { return w.from; },
      [](const BoxCopy& box) { return box.reads_apart(); });
  find_neighbours(
      copies, found, [](const BoxCopy::Way& w) { return static_cast<const std::byte*>(w.to); },
      [](const BoxCopy& box) { return box.writes_apart(); });
  for (const PlacedBox* c : copies) found.push_back({c->box, {c->way}});
  return found;
}

void run(const Neighbours& some, std::int64_t task, std::int64_t tasks, BoxCopy::Stores stores) {
  const BoxCopy& box = *some.box;
  if (!some.is_run())
    return box.run(some.ways, box.lines() * task / tasks, box.lines() * (task + 1) / tasks, stores);
  const auto part = [&](std::int64_t k) {  // rounded to cache lines
    return k == tasks ? box.bytes() : box.bytes() * k / tasks / 64 * 64;
  };
  const auto bytes = static_cast<std::size_t>(part(task + 1) - part(task));
  for (const BoxCopy::Way& way : some.ways)
    stores == BoxCopy::Stores::past_caches
        ? copy_past_caches(way.to + part(task), way.from + part(task), bytes)
        : void(std::memcpy(way.to + part(task), way.from + part(task), bytes));
  if (stores == BoxCopy::Stores::past_caches) past_caches_done();
}

}  // namespace

void copy_all(std::span<const PlacedBox> copies, bool spread) {
  std::int64_t bytes = 0;
  for (const PlacedBox& c : copies) bytes += c.box->bytes();
  if (bytes < machine::kParallelCopy) {
    for (const PlacedBox& c : copies) c.box->run(c.way.from, c.way.to);
    return;
  }
  const std::vector<Neighbours> all = neighbours_of(copies);
  const BoxCopy::Stores stores =
      bytes >= machine::kPastCaches ? BoxCopy::Stores::past_caches : BoxCopy::Stores::cached;
  // The group, and the number of the task in it.
  std::vector<std::pair<const Neighbours*, std::int64_t>> tasks;
  for (const Neighbours& some : all)
    for (std::int64_t k = 0; k < some.tasks(); ++k) tasks.emplace_back(&some, k);
  const auto work = [&](std::int64_t i) {
    const auto& [some, task] = tasks[static_cast<std::size_t>(i)];
    run(*some, task, some->tasks(), stores);
  };
  if (spread)
    parallel_for(std::ssize(tasks), work);
  else
    for (std::int64_t i = 0; i < std::ssize(tasks); ++i) work(i);
}

}  // namespace tessera::inline v0::runtime
