#include "autosharding/templates.h"

#include <algorithm>
#include <set>

namespace tessera::inline v0::autosharding {

namespace {

using AxisList = std::vector<std::size_t>;

class Maker {
 public:
  Maker(const Space& space, const DimClasses& classes) : space_(space), classes_(classes) {
    const auto& variables = space_.variables();
    const bool stateful = std::any_of(variables.begin(), variables.end(),
                                      [](const Variable& v) { return !v.outputs.empty(); });
    if (stateful) {
      for (std::size_t v = 0; v < variables.size(); ++v)
        if (variables[v].outputs.empty() && variables[v].type.shape.rank() > 0)
          batch_.insert(classes_.of[v][0]);
    } else {
      // Without state, the batch is the class of the first result's rows.
      for (const std::vector<int>& dims : classes_.of_results)
        if (!dims.empty() && batch_.empty()) batch_.insert(dims[0]);
    }
    batch_.erase(-1);
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const bool rows = std::any_of(classes_.of[v].begin(), classes_.of[v].end(),
                                    [&](int c) { return batch_.count(c) > 0; });
      is_data_.push_back(stateful ? variables[v].outputs.empty() : rows);
    }
  }

  std::vector<Template> all() {
    add(Template::Kind::replicated, "replicated", space_.whole());
    const std::size_t n = space_.axes().size();
    std::vector<AxisList> lists;
    AxisList every;
    for (std::size_t a = 0; a < n; ++a) {
      lists.push_back({a});
      every.push_back(a);
    }
    if (n > 1) lists.push_back(every);
    for (const AxisList& axes : lists) {
      add(Template::Kind::data, "data parallel over " + text(axes), data(axes));
      for (bool largest : {true, false})
        add(Template::Kind::sharded, "fully sharded over " + text(axes),
            sharded(axes, data(axes), largest));
    }
    const std::vector<std::set<int>> sets = tensor_sets();
    for (std::size_t axis = 0; axis < n; ++axis) {
      AxisList rest = every;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
      const std::string name = "tensor over " + text({axis});
      for (const std::set<int>& set : sets) {
        add(Template::Kind::tensor, name, tensor(set, axis, space_.whole()));
        if (rest.empty()) continue;
        add(Template::Kind::tensor, name + ", data parallel over " + text(rest),
            tensor(set, axis, data(rest)));
        add(Template::Kind::tensor, name + ", fully sharded over " + text(rest),
            sharded(rest, tensor(set, axis, data(rest))));
      }
    }
    return std::move(all_);
  }

 private:
  std::string text(const AxisList& axes) const {
    std::string s;
    for (std::size_t a : axes) s += (s.empty() ? "'" : ", '") + space_.name(a) + "'";
    return s;
  }
  void add(Template::Kind kind, std::string name, Choice choice) {
    const bool known = std::any_of(all_.begin(), all_.end(),
                                   [&](const Template& t) { return t.choice == choice; });
    if (!known) all_.push_back({kind, std::move(name), std::move(choice)});
  }

  Choice data(const AxisList& axes) const {
    Choice c = space_.whole();
    for (std::size_t v = 0; v < is_data_.size(); ++v)
      if (is_data_[v])
        for (int number : batch_)
          if (const int d = classes_.dim(v, number); d >= 0) {
            for (std::size_t a : axes) space_.put(c, v, a, d);
            break;
          }
    return c;
  }
  // Tries the largest dimensions or the first ones, because the communication differs: sharding the
  // inner dimension of a product gathers weights, and sharding its features moves the result.
  Choice sharded(const AxisList& axes, Choice c, bool largest = true) const {
    for (std::size_t v = 0; v < is_data_.size(); ++v) {
      if (is_data_[v]) continue;
      for (std::size_t a : axes) {
        std::vector<int> dims;
        for (int d = 0; d < space_.variables()[v].type.shape.rank(); ++d) dims.push_back(d);
        if (largest)
          std::stable_sort(dims.begin(), dims.end(),
                           [&](int x, int y) { return left(c, v, x) > left(c, v, y); });
        for (int d : dims)
          if (space_.put(c, v, a, d)) break;
      }
    }
    return c;
  }
  // The extent of a device's part along a dimension.
  std::int64_t left(const Choice& c, std::size_t v, int dim) const {
    std::int64_t n = space_.variables()[v].type.shape[static_cast<std::size_t>(dim)];
    for (std::size_t a = 0; a < space_.axes().size(); ++a)
      if (space_.at(c, v, a) == dim) n /= space_.devices(a);
    return n;
  }
  Choice tensor(const std::set<int>& set, std::size_t axis, Choice c) const {
    for (std::size_t v = 0; v < is_data_.size(); ++v)
      for (int d = 0; d < space_.variables()[v].type.shape.rank(); ++d)
        if (set.count(classes_.of[v][static_cast<std::size_t>(d)]) && space_.put(c, v, axis, d))
          break;
    return c;
  }

  // Each class of the largest parameters alone, and all classes except one of those that occur in
  // most parameters: the one that connects the layers.
  std::vector<std::set<int>> tensor_sets() const {
    constexpr std::size_t kMost = 4;
    std::vector<double> bytes(static_cast<std::size_t>(classes_.count));
    std::vector<int> times(bytes.size());
    std::set<int> seen;
    for (std::size_t v = 0; v < is_data_.size(); ++v) {
      if (is_data_[v] || space_.variables()[v].type.shape.rank() < 2) continue;
      for (int c : classes_.of[v]) {
        if (c < 0 || batch_.count(c)) continue;
        seen.insert(c);
        bytes[static_cast<std::size_t>(c)] += static_cast<double>(space_.variables()[v].bytes());
        ++times[static_cast<std::size_t>(c)];
      }
    }
    const auto first = [&](auto measure) {
      std::vector<int> order(seen.begin(), seen.end());
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return measure[static_cast<std::size_t>(a)] > measure[static_cast<std::size_t>(b)];
      });
      return order;
    };
    std::vector<std::set<int>> sets;
    const std::vector<int> common = first(times), large = first(bytes);
    for (std::size_t i = 0; i < std::min<std::size_t>(2, common.size()); ++i) {
      std::set<int> others = seen;
      others.erase(common[i]);
      if (!others.empty()) sets.push_back(others);
    }
    for (std::size_t i = 0; i < std::min(kMost, large.size()); ++i) sets.push_back({large[i]});
    return sets;
  }

  const Space& space_;
  const DimClasses& classes_;
  std::set<int> batch_;
  std::vector<bool> is_data_;
  std::vector<Template> all_;
};

}  // namespace

std::vector<Template> templates(const Space& space, const DimClasses& classes) {
  return Maker(space, classes).all();
}

}  // namespace tessera::inline v0::autosharding
