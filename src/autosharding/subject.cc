// Finds repeated layers in a program and removes some of them.
#include "autosharding/subject.h"

#include "autosharding/kept_beside.h"
#include "base/hash.h"
#include "explain/paths.h"
#include "ir/attr_hash.h"
#include "ir/op.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace tessera::inline v0::autosharding {

namespace {

constexpr std::size_t kSmall = 1500;  // equations; smaller programs are not shortened
constexpr int kFewestLayers = 8;

/// Equations [begin, begin + repeats * period) consist of `repeats` equal stretches, judging by
/// ops, attributes and types.
struct Run {
  std::size_t begin, period;
  int repeats;
};

std::uint64_t hash_of_type(const Type& t) {
  std::size_t h = static_cast<std::size_t>(t.dtype) * 2 + (t.weak ? 1 : 0);
  for (std::int64_t n : t.shape) mix(h, static_cast<std::size_t>(n));
  return h;
}
std::vector<std::size_t> hashes(const Program& p) {
  std::vector<std::size_t> all;
  for (const Equation& eqn : p.equations) {
    std::size_t h = std::hash<const void*>{}(eqn.op);
    for (const auto& [name, value] : eqn.attrs) {
      mix(h, name);
      mix(h, hash_of(value));
    }
    for (Var v : eqn.inputs) mix(h, hash_of_type(p.types[v]));
    mix(h, std::size_t{7});
    for (Var v : eqn.outputs) mix(h, hash_of_type(p.types[v]));
    all.push_back(h);
  }
  return all;
}

/// Runs of about `layers` stretches, in program order. If a layer itself consists of equal
/// stretches, these are combined.
std::vector<Run> runs_of(const std::vector<std::size_t>& hash, int layers) {
  constexpr int kTried = 24;
  std::vector<std::size_t> next(hash.size(), hash.size());  // next equal equation
  std::unordered_map<std::size_t, std::size_t> latest;
  for (std::size_t i = hash.size(); i-- > 0;) {
    const auto [it, fresh] = latest.try_emplace(hash[i], i);
    if (!fresh) next[i] = std::exchange(it->second, i);
  }
  std::unordered_map<std::size_t, std::size_t> ends;  // by period: end of the last run seen
  std::vector<Run> runs;
  for (std::size_t i = 0; i < hash.size();) {
    std::optional<Run> found;
    std::size_t j = next[i];
    for (int tried = 0; j < hash.size() && tried < kTried && !found; ++tried, j = next[j]) {
      const std::size_t period = j - i;
      std::size_t& end = ends[period];
      if (end <= j)
        for (end = j; end < hash.size() && hash[end - period] == hash[end];) ++end;
      const int repeats = static_cast<int>((end - j) / period) + 1;
      const int each = std::max(1, (repeats + layers / 2) / layers);
      if (repeats / each < layers - 2 || repeats / each > layers + 1) continue;
      found = Run{i, period * static_cast<std::size_t>(each), repeats / each};
    }
    if (found) {
      runs.push_back(*found);
      i += found->period * static_cast<std::size_t>(found->repeats);
    } else {
      ++i;
    }
  }
  return runs;
}

// The first number after the root, such as 3 in "args[0]/layers/3/w"; -1 if there is none.
int layer_of(const std::string& path) {
  const std::string rest = explain::behind_root(path), pattern = explain::pattern_of(path);
  const std::size_t star = explain::behind_root(pattern).find('*');
  constexpr std::size_t kDigits = 6;
  if (star == std::string::npos) return -1;
  return std::stoi(rest.substr(star, kDigits));
}

/// For each run and stretch, the layer whose arguments and values the stretch reads most.
std::vector<std::vector<int>> layers_of(const Program& p, const std::vector<Run>& runs,
                                        const std::vector<std::string>& paths, int layers) {
  constexpr int kOfArgument = 4;  // votes; a value, perhaps of the previous layer, has 1
  std::vector<int> layer(p.types.size(), -1);
  std::vector<bool> is_input(p.types.size());
  for (std::size_t i = 0; i < p.inputs.size() && i < paths.size(); ++i) {
    const int l = layer_of(paths[i]);
    if (l < layers) layer[p.inputs[i]] = l;
    is_input[p.inputs[i]] = true;
  }
  std::vector<std::vector<int>> all;
  for (const Run& r : runs) {
    std::vector<int>& of = all.emplace_back();
    for (int j = 0; j < r.repeats; ++j) {
      const auto first =
          p.equations.begin() +
          static_cast<std::ptrdiff_t>(r.begin + r.period * static_cast<std::size_t>(j));
      const auto last = first + static_cast<std::ptrdiff_t>(r.period);
      std::vector<int> votes(static_cast<std::size_t>(layers));
      for (auto eqn = first; eqn != last; ++eqn)
        for (Var v : eqn->inputs)
          if (layer[v] >= 0)
            votes[static_cast<std::size_t>(layer[v])] += is_input[v] ? kOfArgument : 1;
      const auto most = std::max_element(votes.begin(), votes.end());
      of.push_back(*most == 0 ? -1 : static_cast<int>(most - votes.begin()));
      for (auto eqn = first; eqn != last; ++eqn)
        for (Var v : eqn->outputs) layer[v] = of.back();
    }
  }
  return all;
}

/// The program with only the first and last `half` layers. Readers of a removed stretch read the
/// last kept stretch before it. Layers are kept at both ends, so that the backward pass through a
/// layer still finds the values of its forward pass. Absent if a removed stretch has no kept one
/// before it.
std::optional<Subject> without(const Subject& all, const std::vector<Run>& runs,
                               const std::vector<std::vector<int>>& layers_of, int layers,
                               int half) {
  const Program& p = *all.program;
  auto made = std::make_shared<Program>();
  made->name = p.name;
  made->types = p.types;
  std::vector<Var> now(p.types.size());
  std::iota(now.begin(), now.end(), Var{0});
  std::vector<bool> gone(p.types.size());
  std::size_t k = 0;
  const auto keep_to = [&](std::size_t end) {
    for (; k < end; ++k) {
      Equation eqn = p.equations[k];
      for (Var& v : eqn.inputs) v = now[v];
      made->equations.push_back(std::move(eqn));
    }
  };
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const Run& r = runs[n];
    keep_to(r.begin);
    std::optional<std::size_t> kept;  // begin of the last kept stretch
    for (int j = 0; j < r.repeats; ++j) {
      const int layer = layers_of[n][static_cast<std::size_t>(j)];
      const std::size_t begin = k;
      if (layer < half || layer >= layers - half) {
        kept = begin;
        keep_to(begin + r.period);
        continue;
      }
      if (!kept) return std::nullopt;
      for (; k < begin + r.period; ++k)
        for (std::size_t o = 0; o < p.equations[k].outputs.size(); ++o) {
          now[p.equations[k].outputs[o]] = p.equations[*kept + (k - begin)].outputs[o];
          gone[p.equations[k].outputs[o]] = true;
        }
    }
  }
  keep_to(p.equations.size());

  Subject s;
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    if (gone[p.outputs[o]]) continue;
    made->outputs.push_back(p.outputs[o]);
    s.outputs.push_back(all.outputs[o]);
  }
  std::vector<bool> read(p.types.size());
  for (const Equation& eqn : made->equations)
    for (Var v : eqn.inputs) read[v] = true;
  for (Var v : made->outputs) read[v] = true;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    if (!read[p.inputs[i]]) continue;
    made->inputs.push_back(p.inputs[i]);
    s.inputs.push_back(all.inputs[i]);
  }
  s.program = made;
  return s;
}

}  // namespace

Subject whole_subject(const explain::Question& question, const Space& space) {
  Subject s{question.program, {}, {}};
  for (std::size_t i = 0; i < question.program->inputs.size(); ++i)
    s.inputs.push_back(space.variable_of_input(i));
  for (std::size_t o = 0; o < question.program->outputs.size(); ++o)
    s.outputs.push_back(space.variable_of_output(o));
  return s;
}

std::optional<Shortened> shortened(const explain::Question& question, const Space& space) {
  const Program& p = *question.program;
  if (p.equations.size() < kSmall) return std::nullopt;
  // The number of layers is the size of the largest group of equal arguments, or a fraction of it,
  // since optimiser state makes groups two or three times as large.
  std::vector<std::size_t> sizes;
  for (const Variable& v : space.variables()) sizes.push_back(v.inputs.size());
  std::sort(sizes.rbegin(), sizes.rend());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const Subject whole = whole_subject(question, space);
  const std::vector<std::size_t> hash = hashes(p);
  std::vector<std::string> paths = question.inputs;  // optimiser state has its parameter's path
  const std::vector<std::size_t> beside = kept_beside(question, paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) paths[i] = question.inputs[beside[i]];
  for (std::size_t size : sizes)
    for (std::size_t parts = 1; parts <= 4; ++parts) {
      const int layers = static_cast<int>(size / parts);
      if (size % parts != 0 || layers < kFewestLayers) continue;
      const std::vector<Run> runs = runs_of(hash, layers);
      std::size_t covered = 0;
      for (const Run& r : runs) covered += r.period * static_cast<std::size_t>(r.repeats);
      if (2 * covered < p.equations.size()) continue;
      const auto of = layers_of(p, runs, paths, layers);
      for (int half = 1; half <= 2; ++half) {
        std::optional<Subject> first = without(whole, runs, of, layers, half);
        std::optional<Subject> second = without(whole, runs, of, layers, half + 1);
        if (!first || !second) continue;
        return Shortened{std::move(*first), std::move(*second), layers, 2 * half};
      }
    }
  return std::nullopt;
}

}  // namespace tessera::inline v0::autosharding
