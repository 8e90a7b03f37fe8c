#include "base/lasting_text.h"

#include "base/process.h"

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_set>

namespace tessera::inline v0 {

namespace {

constexpr std::size_t kMostLasting = std::size_t{1} << 24;

struct LastingTexts {
  std::mutex mutex;
  std::deque<std::string> copies;  // which never move
  std::unordered_set<std::string_view> known;
  std::size_t bytes = 0;
};

}  // namespace

const char* lasting_text(std::string_view text) {
  static auto* const all = new LastingTexts;  // never destroyed: threads may still run at exit
  text = text.substr(0, text.find('\0'));
  Locked lock(all->mutex);
  if (const auto it = all->known.find(text); it != all->known.end()) return it->data();
  if (all->bytes + text.size() > kMostLasting) return nullptr;
  all->bytes += text.size() + sizeof(std::string);
  return all->known.insert(all->copies.emplace_back(text)).first->data();
}

}  // namespace tessera::inline v0
