#include "checkpoints/agreement.h"

#include "checkpoints/manifest.h"
#include "checkpoints/trouble.h"

#include <tessera/array.h>
#include <tessera/distributed.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace tessera::inline v0::checkpoints {
namespace {

// The values of all processes, concatenated; each process passes equally many.
std::vector<std::uint64_t> of_all(const std::vector<std::uint64_t>& mine) {
  return process_allgather(Array(mine)).to_vector<std::uint64_t>();
}

std::vector<std::string> texts_of_all(const std::string& mine) {
  const std::vector<std::uint64_t> sizes = of_all({mine.size()});
  const std::uint64_t longest = std::max<std::uint64_t>(1, *std::ranges::max_element(sizes));
  std::vector<std::uint8_t> padded(mine.begin(), mine.end());
  padded.resize(longest);
  const std::vector<std::uint8_t> all = process_allgather(Array(padded)).to_vector<std::uint8_t>();
  std::vector<std::string> texts;
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    const auto* begin = all.data() + p * longest;
    texts.emplace_back(begin, begin + sizes[p]);
  }
  return texts;
}

std::string report_of_thrown(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return report_of(e);
  } catch (...) {
    return "it cannot";
  }
}

// Throws because other processes reported errors.
[[noreturn]] void refuse(const char* function, const std::string& doing,
                         const std::vector<std::string>& said, const SourceLoc& loc) {
  Message m(function);
  m.problem("another process cannot " + doing);
  for (std::size_t p = 0; p < said.size(); ++p)
    if (!said[p].empty()) m.offender("process " + std::to_string(p) + ": " + said[p]);
  m.rule("all processes do it, or none")
      .from(loc)
      .advice("look at what that process says")
      .raise<IoError>();
}

// Removes and returns the first line.
std::string take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string line(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line.empty() ? std::string("nothing more") : line;
}

[[noreturn]] void refuse_lines(const char* function, const std::string& doing, std::string_view a,
                               std::string_view b, std::size_t process, const SourceLoc& loc) {
  std::string first, second;
  do first = take_line(a), second = take_line(b);
  while (first == second && !(a.empty() && b.empty()));
  const std::string other = "process " + std::to_string(process);
  Message(function)
      .problem("process 0 and " + other + " cannot " + doing +
               " together: they were not given the same")
      .offender("process 0: " + first)
      .offender(other + ": " + second)
      .rule("all processes pass the same folder, step, tree and options")
      .from(loc)
      .advice("look at what makes them differ: a condition on process_index()?")
      .raise<TreeError>();
}

}  // namespace

void agree(const char* function, const std::string& doing, const std::exception_ptr& mine,
           const SourceLoc& loc) {
  (void)agree(function, doing, Said{mine}, {}, loc);
}

Said agree(const char* function, const std::string& doing, const Said& mine, const Asked& asked,
           const SourceLoc& loc) {
  Said out = mine;
  if (process_count() > 1) {
    std::string text;
    for (const std::string& line : asked.lines) text += line + '\n';
    constexpr std::uint64_t kFine = 0, kAgain = 1, kError = 2;
    constexpr std::size_t kState = 0, kFirst = 1, kSecond = 2, kLines = 3, kAll = 4;
    const std::vector<std::uint64_t> all =
        of_all({mine.error   ? kError
                : mine.again ? kAgain
                             : kFine,
                mine.first, mine.second, checksum(text.data(), text.size())});
    const std::size_t processes = all.size() / kAll;
    const auto find = [&](auto is_so) {
      std::size_t p = 0;
      while (p < processes && !is_so(all.data() + p * kAll)) ++p;
      return p;
    };
    if (find([&](const std::uint64_t* a) { return a[kState] == kError; }) < processes) {
      const std::vector<std::string> said =
          texts_of_all(mine.error ? report_of_thrown(mine.error) : std::string());
      if (!mine.error) refuse(function, doing, said, loc);
    } else if (const std::size_t p =
                   find([&](const std::uint64_t* a) { return a[kLines] != all[kLines]; });
               p < processes) {
      const std::vector<std::string> texts = texts_of_all(text);
      refuse_lines(function, doing, texts[0], texts[p], p, loc);
    }
    out.first = all[kFirst];
    out.second = all[kSecond];
    out.again = find([&](const std::uint64_t* a) { return a[kState] == kAgain; }) < processes;
  }
  if (mine.error) std::rethrow_exception(mine.error);
  return out;
}

}  // namespace tessera::inline v0::checkpoints
