#include "stablehlo/text/tile_sharding.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

namespace tessera::inline v0::stablehlo {

namespace {

using Digits = std::vector<DeviceDigit>;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kMostDevices = 1 << 20;

class Text {
 public:
  explicit Text(std::string_view rest) : rest_(rest) { skip(); }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    skip();
    return true;
  }
  std::optional<std::int64_t> number() {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
    if (error != std::errc() || n < 0 || n > kMostDevices) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    skip();
    return n;
  }
  /// "1,2,3", at least one number.
  std::optional<Numbers> numbers() {
    Numbers all;
    do {
      const auto n = number();
      if (!n) return std::nullopt;
      all.push_back(*n);
    } while (take(","));
    return all;
  }
  /// Skips past the next such closing bracket.
  bool skip_to(char closing) {
    const std::size_t at = rest_.find(closing);
    if (at == rest_.npos) return false;
    rest_.remove_prefix(at + 1);
    skip();
    return true;
  }
  bool empty() const { return rest_.empty(); }

 private:
  void skip() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

// The product of sizes; nothing if a size is below 1 or the product is too large.
std::optional<std::int64_t> tile_count(const Numbers& sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) {
    if (s < 1 || s > kMostDevices / n) return std::nullopt;
    n *= s;
  }
  return n;
}

// The digits, major first, of iota(prod(sizes)).reshape(sizes).transpose(permutation).
std::optional<Digits> transposed(const Numbers& sizes, const Numbers& permutation) {
  if (permutation.size() != sizes.size()) return std::nullopt;
  Digits digits, all(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) all[i] = {stride, sizes[i]};
  std::vector<bool> seen(sizes.size());
  for (std::int64_t p : permutation) {
    if (p < 0 || static_cast<std::size_t>(p) >= sizes.size() || seen[static_cast<std::size_t>(p)])
      return std::nullopt;
    seen[static_cast<std::size_t>(p)] = true;
    digits.push_back(all[static_cast<std::size_t>(p)]);
  }
  return digits;
}

// The digits of a list of devices; nothing if the list does not follow mesh axes.
std::optional<Digits> digits_of(const Numbers& list) {
  const auto n = static_cast<std::int64_t>(list.size());
  Digits digits;  // from the minor one
  for (std::int64_t block = 1; block < n;) {
    const std::int64_t stride = list[static_cast<std::size_t>(block)];
    std::int64_t run = 1;
    while (run * block < n && list[static_cast<std::size_t>(run * block)] == run * stride) ++run;
    while (n % (block * run) != 0) --run;
    if (run == 1) return std::nullopt;
    digits.push_back({stride, run});
    block *= run;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, device = 0;
    for (const DeviceDigit& d : digits) {
      device += rest % d.size * d.stride;
      rest /= d.size;
    }
    if (list[static_cast<std::size_t>(i)] != device) return std::nullopt;
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// Takes leading digits whose sizes multiply to `parts`; the last one may be split. Returns false if
// that is impossible.
bool take_parts(Digits& digits, std::int64_t parts, Digits& taken) {
  while (parts > 1) {
    while (!digits.empty() && digits.front().size == 1) digits.erase(digits.begin());
    if (digits.empty()) return false;
    DeviceDigit& first = digits.front();
    if (parts % first.size == 0) {
      parts /= first.size;
      taken.push_back(first);
      digits.erase(digits.begin());
    } else if (first.size % parts == 0) {
      first.size /= parts;
      taken.push_back({first.stride * first.size, parts});
      parts = 1;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

TileSharding parse_tile_sharding(std::string_view text, int rank, std::string& problem) {
  TileSharding s;
  const auto wrong = [&](std::string what) {
    problem = std::move(what);
    return TileSharding{};
  };
  Text t(text);
  if (t.empty()) return s;
  if (!t.take("{")) return wrong("it does not begin with a brace");
  if (t.take("{")) return wrong("it is one of a tuple");
  if (t.take("}")) return s;  // without values
  if (t.take("replicated")) {
    s.kind = TileSharding::Kind::replicated;
    return s;
  }
  if (t.take("manual")) {
    s.kind = TileSharding::Kind::manual;
    return s;
  }
  if (t.take("unknown") || t.take("maximal")) return s;
  if (!t.take("devices=[")) return wrong("it has neither devices nor a word that stands for them");
  s.kind = TileSharding::Kind::tiled;
  const auto tile = t.numbers();
  if (!tile || !t.take("]")) return wrong("its numbers of parts should stand in brackets");
  const auto devices = tile_count(*tile);
  if (!devices) return wrong("it is for no device, or for too many");
  s.devices = *devices;
  std::optional<Digits> digits;
  if (t.take("<=[")) {
    const auto sizes = t.numbers();
    if (!sizes || !t.take("]") || tile_count(*sizes) != devices)
      return wrong("its sizes behind '<=' should multiply to " + std::to_string(*devices));
    Numbers permutation(sizes->size());
    std::iota(permutation.begin(), permutation.end(), 0);
    if (t.take("T(")) {
      const auto given = t.numbers();
      if (!given || !t.take(")")) return wrong("its permutation should stand in parentheses");
      permutation = *given;
    }
    digits = transposed(*sizes, permutation);
    if (!digits) return wrong("it is no permutation that stands behind T");
  } else {
    const auto list = t.numbers();
    if (!list || static_cast<std::int64_t>(list->size()) != *devices)
      return wrong("it should list " + std::to_string(*devices) + " devices");
    digits = digits_of(*list);
    if (!digits) return wrong("its devices go along no axes of a mesh");
  }
  std::vector<bool> others;  // whether each further dimension of the tile is manual
  while (!t.take("}")) {
    if (t.take("last_tile_dim_replicate")) {
      others = {false};
    } else if (t.take("last_tile_dims={")) {
      others.clear();
      do {
        others.push_back(t.take("manual"));
        if (!others.back() && !t.take("replicated"))
          return wrong("its last dimensions should be manual or replicated");
      } while (t.take(","));
      if (!t.take("}")) return wrong("a brace is missing behind its last dimensions");
    } else if (t.take("metadata={")) {
      if (!t.skip_to('}')) return wrong("a brace is missing behind its metadata");
    } else {
      return wrong("something stands behind its devices that is not known");
    }
  }
  if (tile->size() != static_cast<std::size_t>(rank) + others.size())
    return wrong("it has parts for " +
                 std::to_string(static_cast<std::int64_t>(tile->size() - others.size())) +
                 " dimensions, and the array " + std::to_string(rank));
  for (int d = 0; d < rank; ++d)
    if (!take_parts(*digits, (*tile)[static_cast<std::size_t>(d)], s.dims.emplace_back()))
      return wrong("its parts go along no axes of a mesh");
  // If all of them are replicated, their digits are not needed.
  if (std::find(others.begin(), others.end(), true) == others.end()) return s;
  for (std::size_t i = 0; i < others.size(); ++i) {
    Digits whole;
    if (!take_parts(*digits, (*tile)[static_cast<std::size_t>(rank) + i],
                    others[i] ? s.manual : whole))
      return wrong("its last dimensions go along no axes of a mesh");
  }
  return s;
}

}  // namespace tessera::inline v0::stablehlo
