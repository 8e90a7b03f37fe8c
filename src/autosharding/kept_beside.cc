#include "autosharding/kept_beside.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

namespace tessera::inline v0::autosharding {

namespace {

/// A subtree: its arguments [begin, end) all lie below one path.
struct Below {
  std::size_t begin, end;
  std::ptrdiff_t depth;
  bool list;  // its children are arrays with numbers as names
};

bool is_number(const std::string& path, std::size_t from) {
  return from < path.size() && std::all_of(path.begin() + static_cast<std::ptrdiff_t>(from),
                                           path.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<Below> trees_of(const std::vector<std::string>& paths, std::size_t arguments) {
  std::map<std::string, Below> trees;
  for (std::size_t i = 0; i < arguments; ++i) {
    const std::string& path = paths[i];
    for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      const auto depth =
          std::count(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(at), '/');
      Below& b = trees.try_emplace(path.substr(0, at), Below{i, i, depth, true}).first->second;
      b.end = i + 1;
      b.list = b.list && is_number(path, at + 1);
    }
  }
  std::vector<Below> all;
  for (const auto& [path, below] : trees) all.push_back(below);
  std::stable_sort(all.begin(), all.end(), [](const Below& a, const Below& b) {
    return a.depth != b.depth ? a.depth < b.depth : a.begin < b.begin;
  });
  return all;
}

}  // namespace

std::vector<std::size_t> kept_beside(const explain::Question& question, std::size_t arguments) {
  constexpr std::size_t kFewest = 2;     // arrays; a single one may be anything
  constexpr std::ptrdiff_t kDeeper = 2;  // levels between a tree and such a list
  const Program& p = *question.program;
  std::vector<std::size_t> with(arguments);
  std::iota(with.begin(), with.end(), std::size_t{0});
  const std::vector<Below> trees = trees_of(question.inputs, arguments);
  for (const Below& list : trees) {
    const std::size_t n = list.end - list.begin;
    if (!list.list || n < kFewest) continue;
    for (const Below& tree : trees) {
      if (tree.depth + kDeeper > list.depth) break;
      if (tree.end - tree.begin != n || tree.begin == list.begin) continue;
      bool alike = true;
      for (std::size_t k = 0; k < n && alike; ++k)
        alike = p.types[p.inputs[tree.begin + k]].shape == p.types[p.inputs[list.begin + k]].shape;
      if (!alike) continue;
      for (std::size_t k = 0; k < n; ++k) with[list.begin + k] = with[tree.begin + k];
      break;
    }
  }
  return with;
}

}  // namespace tessera::inline v0::autosharding
