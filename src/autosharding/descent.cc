#include "autosharding/descent.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::inline v0::autosharding {

Descent::Descent(Judge& judge, const Space& space, const DimClasses& classes,
                 const SearchOptions& options)
    : judge_(judge), space_(space), classes_(classes), options_(options) {
  order_.resize(space.variables().size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return space.variables()[a].bytes() > space.variables()[b].bytes();
  });
  constexpr std::size_t kThorough = 96;
  std::size_t all = 0;
  for (std::size_t v = 0; v < order_.size(); ++v) {
    ways_.push_back(space.options(v));
    all += ways_.back().size();
  }
  thorough_ = all <= kThorough;
}

bool Descent::fits(const Figures& f) const {
  return options_.memory_limit == 0 || f.peak(scale) <= static_cast<double>(options_.memory_limit);
}

bool Descent::better(const Figures& a, const Figures& b) const {
  constexpr double kSame = 1e-9;  // relative rounding error of sums in another order
  const bool fits_a = fits(a), fits_b = fits(b);
  if (fits_a != fits_b) return fits_a;
  const bool same = std::abs(a.seconds - b.seconds) <= kSame * std::max(a.seconds, b.seconds);
  if (fits_a) return same ? a.peak(scale) < b.peak(scale) : a.seconds < b.seconds;
  if (a.peak(scale) != b.peak(scale)) return a.peak(scale) < b.peak(scale);
  return !same && a.seconds < b.seconds;
}

bool Descent::visit(const Choice& choice) {
  if (judge_.known(choice)) return true;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
  // The first choice is always judged, so that there is a result.
  if (judge_.count() > 0 &&
      (judge_.count() >= judge_.budget() || passed.count() > options_.seconds))
    return false;
  judge_(choice);
  return true;
}

bool Descent::try_all() {
  if (space_.choices() > judge_.budget()) return false;
  std::vector<std::size_t> way(ways_.size());
  const std::size_t axes = space_.axes().size();
  for (;;) {
    Choice c = space_.whole();
    for (std::size_t v = 0; v < ways_.size(); ++v)
      std::copy(ways_[v][way[v]].begin(), ways_[v][way[v]].end(),
                c.begin() + static_cast<std::ptrdiff_t>(v * axes));
    if (!visit(c)) return false;
    std::size_t v = 0;
    while (v < way.size() && way[v] + 1 == ways_[v].size()) way[v++] = 0;
    if (v == way.size()) return true;
    ++way[v];
  }
}

bool Descent::take(Choice& now, const Choice& to) {
  if (to == now || !visit(to) || !better(judge_(to), judge_(now))) return false;
  now = to;
  return true;
}

// Tries each axis on each class of dimensions: added to its present dimensions, instead of them, or
// removed from them.
void Descent::change_classes(Choice& now) {
  constexpr int kMost = 8;
  for (std::size_t a = 0; a < space_.axes().size(); ++a)
    for (int number = 0; number < std::min(kMost, classes_.count); ++number) {
      Choice added = now, alone = now, removed = now;
      for (std::size_t v = 0; v < space_.variables().size(); ++v) {
        if (!space_.variables()[v].settled) space_.at(alone, v, a) = -1;
        const int d = classes_.dim(v, number);
        if (d < 0) continue;
        if (space_.at(now, v, a) == d) space_.put(removed, v, a, -1);
        space_.put(added, v, a, d);
        space_.put(alone, v, a, d);
      }
      for (const Choice& to : {added, alone, removed}) take(now, to);
    }
}

void Descent::change_variables(Choice& now) {
  const std::size_t axes = space_.axes().size();
  for (std::size_t v : order_) {
    if (space_.variables()[v].settled) continue;
    const auto begin = static_cast<std::ptrdiff_t>(v * axes);
    for (const Choice& way : ways_[v]) {
      std::size_t differ = 0;
      for (std::size_t a = 0; a < axes; ++a) differ += way[a] != space_.at(now, v, a);
      if (differ > 1 && !thorough_) continue;
      Choice to = now;
      std::copy(way.begin(), way.end(), to.begin() + begin);
      take(now, to);
    }
  }
}

void Descent::improve(Choice now) {
  constexpr double kWorthwhile = 0.995;
  if (!visit(now)) return;
  for (;;) {
    const Figures before = judge_(now);
    change_variables(now);
    change_classes(now);
    const Figures& after = judge_(now);
    const bool gained = fits(after) ? !fits(before) || after.seconds < kWorthwhile * before.seconds
                                    : after.peak(scale) < kWorthwhile * before.peak(scale);
    if (!gained && !(thorough_ && better(after, before))) return;
  }
}

std::vector<Choice> Descent::best(std::size_t count) const {
  std::vector<Choice> all;
  for (const auto& [choice, figures] : judge_.all()) all.push_back(choice);
  std::stable_sort(all.begin(), all.end(),
                   [&](const Choice& a, const Choice& b) { return better(judge_(a), judge_(b)); });
  all.resize(std::min(count, all.size()));
  return all;
}

Choice Descent::smallest() const {
  const auto& all = judge_.all();
  return std::min_element(all.begin(), all.end(),
                          [&](const auto& a, const auto& b) {
                            return a.second.peak(scale) < b.second.peak(scale);
                          })
      ->first;
}

}  // namespace tessera::inline v0::autosharding
