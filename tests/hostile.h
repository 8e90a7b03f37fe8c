// Corrupted files: mutations of valid ones, and a limit on the memory that reading them takes.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace test {

/// How many mutated files a test reads: a fixed number, or that of the environment for long runs.
inline std::int64_t hostile_files() {
  const char* text = std::getenv("TESSERA_TEST_FILES");
  return text ? std::atoll(text) : 3000;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TESSERA_TEST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TESSERA_TEST_SANITIZED
#endif

/// While it lives, the process may take `more` bytes of address space besides what it has.
/// Sanitizers reserve terabytes, so nothing is limited under them.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::uint64_t more) {
    getrlimit(RLIMIT_AS, &before_);
#ifndef TESSERA_TEST_SANITIZED
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit now{pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + more,
                     before_.rlim_max};
    if (pages) setrlimit(RLIMIT_AS, &now);
#endif
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

/// Changes a good file by one to four mutations: bits, bytes, cuts, copies, pieces of other good
/// files, and numbers of the format replaced by those that break arithmetic.
class Mutator {
 public:
  Mutator(std::uint64_t seed, const std::vector<std::string>& corpus)
      : random_(seed), corpus_(corpus) {}

  std::string operator()() {
    std::string s = corpus_[below(corpus_.size())];
    for (std::size_t n = 1 + below(4); n > 0; --n) mutate(s);
    return s;
  }
  std::size_t below(std::size_t n) { return n ? random_() % n : 0; }

 private:
  std::string piece(const std::string& of) {
    const std::size_t at = below(of.size());
    return of.substr(at, 1 + below(24));
  }
  void mutate(std::string& s) {
    const std::size_t at = below(s.size());
    switch (below(9)) {
      case 0:
        if (!s.empty()) s[at] = static_cast<char>(s[at] ^ (1 << below(8)));
        break;
      case 1:
        if (!s.empty()) s[at] = static_cast<char>(random_());
        break;
      case 2: s.resize(at); break;
      case 3: s.erase(at, 1 + below(16)); break;
      case 4: s.insert(at, piece(s)); break;
      case 5: s.insert(at, piece(corpus_[below(corpus_.size())])); break;
      case 6: s.insert(at, std::string(below(20000), "[{\"0,\0"[below(6)])); break;
      case 7: {  // a number in binary, of either order
        static constexpr std::uint64_t kOdd[] = {0,          1,        0x7fffffff, 0x80000000,
                                                 0xffffffff, ~0ull,    ~0ull >> 1, 1ull << 40,
                                                 1ull << 63, 100000001};
        const std::uint64_t v = kOdd[below(std::size(kOdd))];
        const bool little = below(2);
        const std::size_t width = below(2) ? 8 : 4, start = below(2) ? at : 4 * below(5);
        for (std::size_t i = 0; i < width && start + i < s.size(); ++i)
          s[start + i] = static_cast<char>(v >> 8 * (little ? i : width - 1 - i));
        break;
      }
      default: {  // a number in decimals
        static const char* const kOdd[] = {"0",     "-1",   "18446744073709551615", "4294967296",
                                           "1e308", "1.5",  "1099511627776",        "null",
                                           "[]",    "true", "99999999999999999999"};
        const std::size_t begin = s.find_first_of("0123456789", at);
        if (begin == std::string::npos) break;
        std::size_t end = s.find_first_not_of("0123456789", begin);
        if (end == std::string::npos) end = s.size();
        s.replace(begin, end - begin, kOdd[below(std::size(kOdd))]);
      }
    }
  }
  std::mt19937_64 random_;
  const std::vector<std::string>& corpus_;
};

}  // namespace test
