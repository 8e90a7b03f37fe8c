#include "runtime/claim.h"

#include "base/process.h"

#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace tessera::inline v0::runtime {
namespace {

// The process has one table, because a call of any program can take any array.
struct Names {
  std::mutex mutex;
  std::deque<std::string> all;  // by number - 1
  std::map<std::string, std::uint32_t, std::less<>> numbers;
};
Names& names() {
  static auto* n = new Names;  // leaked, because arrays may outlive main's statics
  return *n;
}

}  // namespace

std::uint32_t taker(std::string_view name) {
  Locked lock(names().mutex);
  if (auto it = names().numbers.find(name); it != names().numbers.end()) return it->second;
  names().all.emplace_back(name);
  const auto number = static_cast<std::uint32_t>(names().all.size());
  names().numbers.emplace(name, number);
  return number;
}

const std::string& name_of_taker(std::uint32_t taker) {
  Locked lock(names().mutex);
  return names().all.at(taker - 1);
}

}  // namespace tessera::inline v0::runtime
