#include "ops/factors.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::ops {

int FactorRule::factor(std::int64_t size, char first) {
  auto used = [&](const std::string& n) {
    return std::find(names_.begin(), names_.end(), n) != names_.end();
  };
  std::string name;
  for (int round = 0; name.empty(); ++round)
    for (int k = 0; k < 26 && name.empty(); ++k) {
      std::string candidate(1, static_cast<char>('a' + (first - 'a' + k) % 26));
      if (round) candidate += std::to_string(round);
      if (!used(candidate)) name = candidate;
    }
  names_.push_back(std::move(name));
  sizes_.push_back(size);
  return static_cast<int>(names_.size()) - 1;
}

std::vector<int> FactorRule::factors(const Shape& shape) {
  std::vector<int> out;
  for (std::int64_t d : shape) out.push_back(factor(d));
  return out;
}

namespace {
FactorRule::Dims single(const std::vector<int>& dims) {
  FactorRule::Dims out;
  for (int f : dims) out.push_back({f});
  return out;
}
}  // namespace

void FactorRule::input(const std::vector<int>& dims) { inputs_.push_back(single(dims)); }
void FactorRule::output(const std::vector<int>& dims) { outputs_.push_back(single(dims)); }

void FactorRule::mark(const std::string& kind, int factor, const std::string& combiner) {
  for (auto& [k, set] : kinds_)
    if (k == kind) {
      set.emplace_back(factor, combiner);
      return;
    }
  kinds_.push_back({kind, {{factor, combiner}}});
}

std::string FactorRule::str() const {
  std::string s;
  auto tensors = [&](const std::vector<Dims>& list) {
    s += '(';
    for (std::size_t t = 0; t < list.size(); ++t) {
      s += t ? ",[" : "[";
      for (std::size_t d = 0; d < list[t].size(); ++d) {
        if (d) s += ',';
        for (int f : list[t][d]) s += names_[static_cast<std::size_t>(f)];
      }
      s += ']';
    }
    s += ')';
  };
  tensors(inputs_);
  s += "->";
  tensors(outputs_);
  if (!names_.empty()) {
    std::vector<std::size_t> order(names_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return names_[a] < names_[b]; });
    s += ' ';
    char separator = '{';
    for (std::size_t f : order) {
      s += separator + names_[f] + '=' + std::to_string(sizes_[f]);
      separator = ',';
    }
    s += '}';
  }
  for (const auto& [kind, set] : kinds_) {
    s += ' ' + kind + '=';
    char separator = '{';
    for (const auto& [f, combiner] : set) {
      s += separator + names_[static_cast<std::size_t>(f)];
      if (!combiner.empty()) s += ':' + combiner;
      separator = ',';
    }
    s += '}';
  }
  return s;
}

std::string pointwise_rule(const Shape& shape, int inputs, int outputs) {
  FactorRule rule;
  std::vector<int> dims = rule.factors(shape);
  for (int i = 0; i < inputs; ++i) rule.input(dims);
  for (int i = 0; i < outputs; ++i) rule.output(dims);
  return rule.str();
}

}  // namespace tessera::inline v0::ops
