#include "processes/alike.h"

#include "base/settings.h"
#include "processes/patience.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::processes {
namespace {

// Settings that affect the planned programs, the bits of results that each process computes itself,
// or the exchanges. All others, such as the number of workers, may differ.
constexpr const char* kAlike[] = {
    "TESSERA_DEVICES",        "TESSERA_ISOLATE",      "TESSERA_EVALUATE", "TESSERA_FLUSH_DENORMAL",
    "TESSERA_DISABLE_PASSES", "TESSERA_GATHER_READS", "TESSERA_COMPARE",  "TESSERA_APART"};
constexpr const char* kThreads = "InitializeOptions::several_threads";

// The value of a setting; "0" for a flag that is not set.
std::string value_of(const char* name) {
  const std::string text = settings::text(name);
  const auto& all = settings::variables();
  const auto v = std::find_if(all.begin(), all.end(),
                              [&](const auto& x) { return std::strcmp(x.name, name) == 0; });
  return text.empty() && v->kind == settings::Variable::Kind::flag ? "0" : text;
}

// A fixed size per process, so that one exchange suffices. Longer lists of passes are truncated.
using Value = std::array<char, 120>;
struct Told {
  std::array<Value, std::size(kAlike) + 1> values{};
};
Value padded(const std::string& text) {
  Value v{};
  text.copy(v.data(), v.size() - 1);
  return v;
}

// For example "process 1" or "processes 0, 2 and 5 more".
std::string name_of(const std::vector<int>& ranks) {
  constexpr std::size_t kMany = 8;
  std::string text = ranks.size() == 1 ? "process " : "processes ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMany); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > kMany) text += " and " + std::to_string(ranks.size() - kMany) + " more";
  return text;
}
// For example "1 in process 1, not set in process 0"; empty if all are equal.
std::string differences(const std::vector<std::string>& by_rank) {
  std::map<std::string, std::vector<int>> ranks;
  for (std::size_t r = 0; r < by_rank.size(); ++r) ranks[by_rank[r]].push_back(static_cast<int>(r));
  if (ranks.size() == 1) return {};
  std::string text;
  for (const auto& [value, of] : ranks)
    text += (text.empty() ? "" : ", ") + (value.empty() ? "not set" : value) + " in " + name_of(of);
  return text;
}

// Throws, and marks this process as broken, so that later collectives fail as well.
[[noreturn]] void refuse(Group& group, Message& m) {
  group.give_up("gave up: " + m.str());
  m.raise<CollectiveError>();
}

template <class T>
std::vector<T> of_all(Group& group, std::string_view function, const T& mine,
                      const SourceLoc& loc) {
  const std::vector<std::byte> bytes =
      group.all_gather_unordered(function, std::as_bytes(std::span(&mine, 1)), loc);
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

}  // namespace

void need_like_settings(Group& group, const JoinOptions& options) {
  Told mine;
  for (std::size_t i = 0; i < std::size(kAlike); ++i) mine.values[i] = padded(value_of(kAlike[i]));
  mine.values.back() = padded(options.several_threads ? "true" : "false");
  const std::vector<Told> told = of_all(group, "initialize", mine, options.loc);
  Message m("initialize");
  std::string first;
  for (std::size_t i = 0; i < mine.values.size(); ++i) {
    const std::string name = i < std::size(kAlike) ? kAlike[i] : kThreads;
    std::vector<std::string> values;
    for (const Told& t : told) values.emplace_back(t.values[i].data());
    const std::string differs = differences(values);
    if (differs.empty()) continue;
    m.offender(name + " is " + differs);
    if (first.empty()) first = name;
  }
  if (first.empty()) return;
  m.problem("processes have settings that differ")
      .rule("settings that change programs, their bits or what is exchanged are those of all")
      .from(options.loc)
      .advice(first == kThreads ? "the same options in all processes"
                                : "set it for all: mpirun -x " + first + " ./program");
  refuse(group, m);
}

void need_like_number(Group& group, std::string_view function, std::string_view what,
                      std::int64_t mine, const SourceLoc& loc) {
  std::vector<std::string> values;
  for (const std::int64_t n : of_all(group, function, mine, loc))
    values.push_back(std::to_string(n));
  const std::string differs = differences(values);
  if (differs.empty()) return;
  Message m(function);
  m.problem(std::string(what) + " are not as many in all processes")
      .offender(differs)
      .rule("all processes make the same calls, with the same numbers")
      .from(loc)
      .advice("look for what depends on process_index() or on the machine");
  refuse(group, m);
}

}  // namespace tessera::inline v0::processes
