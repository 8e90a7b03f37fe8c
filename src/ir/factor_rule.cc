#include "ir/factor_rule.h"

#include <algorithm>
#include <string_view>

namespace tessera::inline v0 {

FactorRule::FactorRule() = default;
FactorRule::FactorRule(const FactorRule& other) = default;
FactorRule::FactorRule(FactorRule&& other) noexcept = default;
FactorRule& FactorRule::operator=(const FactorRule& other) = default;
FactorRule& FactorRule::operator=(FactorRule&& other) noexcept = default;
FactorRule::~FactorRule() = default;

namespace {

FactorRule::Dims single(const std::vector<int>& dims) {
  FactorRule::Dims out;
  for (int f : dims) out.push_back({f});
  return out;
}

std::string_view name_of(FactorRule::Kind kind) {
  switch (kind) {
    case FactorRule::Kind::reduction: return "reduction";
    case FactorRule::Kind::indexed: return "indexed";
    case FactorRule::Kind::prefix: return "prefix";
    case FactorRule::Kind::contest: return "contest";
    case FactorRule::Kind::permutation: return "permutation";
    case FactorRule::Kind::window: return "window";
    case FactorRule::Kind::need_repl: return "need_repl";
    case FactorRule::Kind::blocked: return "blocked";
  }
  return "";
}

}  // namespace

int FactorRule::factor(std::int64_t size, char first) {
  auto used = [&](const std::string& n) {
    return std::any_of(factors_.begin(), factors_.end(),
                       [&](const Factor& f) { return f.name == n; });
  };
  std::string name;
  for (int round = 0; name.empty(); ++round)
    for (int k = 0; k < 26 && name.empty(); ++k) {
      std::string candidate(1, static_cast<char>('a' + (first - 'a' + k) % 26));
      if (round) candidate += std::to_string(round);
      if (!used(candidate)) name = candidate;
    }
  factors_.push_back({std::move(name), size});
  return static_cast<int>(factors_.size()) - 1;
}

std::vector<int> FactorRule::factors(const Shape& shape) {
  std::vector<int> out;
  for (std::int64_t d : shape) out.push_back(factor(d));
  return out;
}

void FactorRule::input(const std::vector<int>& dims) { inputs_.push_back(single(dims)); }
void FactorRule::output(const std::vector<int>& dims) { outputs_.push_back(single(dims)); }

std::string to_string(const FactorRule& rule) {
  const auto& factors = rule.all();
  auto name = [&](int f) -> const std::string& {
    return factors[static_cast<std::size_t>(f)].name;
  };
  std::string s;
  auto tensors = [&](const std::vector<FactorRule::Dims>& list) {
    s += '(';
    for (std::size_t t = 0; t < list.size(); ++t) {
      s += t ? ",[" : "[";
      for (std::size_t d = 0; d < list[t].size(); ++d) {
        if (d) s += ',';
        for (int f : list[t][d]) s += name(f);
      }
      s += ']';
    }
    s += ')';
  };
  tensors(rule.inputs());
  s += "->";
  tensors(rule.outputs());
  if (!factors.empty()) {
    auto order = factors;
    std::sort(order.begin(), order.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    char separator = ' ';
    s += " {";
    for (const FactorRule::Factor& f : order) {
      if (separator == ',') s += ',';
      s += f.name + '=' + std::to_string(f.size);
      separator = ',';
    }
    s += '}';
  }
  std::vector<FactorRule::Kind> kinds;  // in the order of their first marks
  for (const FactorRule::Mark& m : rule.marks())
    if (std::find(kinds.begin(), kinds.end(), m.kind) == kinds.end()) kinds.push_back(m.kind);
  for (FactorRule::Kind kind : kinds) {
    s += ' ';
    s += name_of(kind);
    s += "={";
    bool first = true;
    for (const FactorRule::Mark& m : rule.marks()) {
      if (m.kind != kind) continue;
      if (!first) s += ',';
      first = false;
      s += name(m.factor);
      if (m.combiner != Combiner::replace) (s += ':') += name_of(m.combiner);
    }
    s += '}';
  }
  return s;
}

}  // namespace tessera::inline v0
