#include "runtime/history.h"

#include "base/hash.h"
#include "base/settings.h"
#include "processes/processes.h"

#include <xxhash.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace tessera::inline v0::runtime {
namespace {

// The number of words that are sampled from a large value.
constexpr std::size_t kSample = 64;

std::uint64_t never_0(std::uint64_t h) { return h ? h : 1; }

}  // namespace

Compare compares() {
  // Read once, because histories that are made in different ways cannot be compared.
  static const Compare how = [] {
    const std::string text = settings::text("TESSERA_COMPARE");
    return text == "off" ? Compare::off : text == "all" ? Compare::all : Compare::small;
  }();
  return how;
}

std::uint64_t number_of_values(const Type& type, const std::byte* bytes) {
  const auto n = static_cast<std::size_t>(type.bytes());
  std::size_t h = static_cast<std::size_t>(type.dtype);
  for (const std::int64_t extent : type.shape) mix(h, extent);
  if (type.bytes() <= kSmallValue || compares() == Compare::all) {
    mix(h, XXH3_64bits(bytes, n));
    return never_0(h);
  }
  std::array<std::uint64_t, kSample> sample;
  const std::size_t last = n - sizeof sample[0];
  for (std::size_t i = 0; i < kSample; ++i)
    std::memcpy(&sample[i], bytes + last / (kSample - 1) * i, sizeof sample[0]);
  mix(h, XXH3_64bits(sample.data(), sizeof sample));
  return never_0(h);
}

std::shared_ptr<const History> history_of_values(const Type& type, const std::byte* bytes) {
  if (compares() == Compare::off) return nullptr;
  auto h = std::make_shared<History>();
  h->number = number_of_values(type, bytes);
  if (type.bytes() <= kSmallValue)
    h->values.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(type.bytes()));
  return h;
}

std::shared_ptr<const History> history_of_parts(const Layout& layout) {
  if (compares() == Compare::off || ::gettid() != ::getpid() || processes::several_threads())
    return nullptr;
  // Processes without any of the devices need not make the array, so the count is per list of
  // devices. The process counts once for all sets of devices: every process that has them makes the
  // same arrays in the same order.
  static auto* const mutex = new std::mutex;
  static auto* const made = new std::map<std::vector<int>, std::uint64_t>;
  std::size_t h = 0;
  {
    const std::lock_guard lock(*mutex);
    mix(h, ++(*made)[layout.devices()]);
  }
  for (const int d : layout.devices()) mix(h, d);
  auto history = std::make_shared<History>();
  history->number = never_0(h);
  return history;
}

}  // namespace tessera::inline v0::runtime
