#include "checkpoint/agreement.h"

#include "checkpoint/manifest.h"

#include <tessera/array.h>
#include <tessera/distributed.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace tessera::inline v0::checkpoints {
namespace {

std::vector<std::uint64_t> of_all(std::uint64_t mine) {
  return process_allgather(Array(std::vector<std::uint64_t>{mine})).to_vector<std::uint64_t>();
}

std::vector<std::string> texts_of_all(const std::string& mine) {
  const std::vector<std::uint64_t> sizes = of_all(mine.size());
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

std::string first_line(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    const std::string_view text = e.what();
    return std::string(text.substr(0, text.find('\n')));
  } catch (...) {
    return "it cannot";
  }
}

}  // namespace

std::uint64_t of_first(std::uint64_t mine) { return process_count() == 1 ? mine : of_all(mine)[0]; }

void agree(const char* function, const std::string& doing, const std::exception_ptr& mine,
           const SourceLoc& loc) {
  if (process_count() > 1) {
    const std::vector<std::uint64_t> failed = of_all(mine ? 1 : 0);
    if (std::ranges::find(failed, 1u) != failed.end()) {
      const std::vector<std::string> texts = texts_of_all(mine ? first_line(mine) : "");
      if (!mine) {
        Message m(function);
        m.problem("another process cannot " + doing);
        for (std::size_t p = 0; p < texts.size(); ++p)
          if (failed[p]) m.offender("process " + std::to_string(p) + ": " + texts[p]);
        m.rule("all processes do it, or none")
            .from(loc)
            .advice("look at what that process says")
            .raise<IoError>();
      }
    }
  }
  if (mine) std::rethrow_exception(mine);
}

void need_same_lines(const char* function, const std::string& what,
                     const std::vector<std::string>& mine, const SourceLoc& loc) {
  if (process_count() == 1) return;
  std::string text;
  for (const std::string& line : mine) text += line + '\n';
  const std::uint64_t sum = checksum(text.data(), text.size());
  const std::vector<std::uint64_t> sums = of_all(sum);
  const auto other = std::ranges::find_if(sums, [&](std::uint64_t s) { return s != sums[0]; });
  if (other == sums.end()) return;
  const auto p = static_cast<std::size_t>(other - sums.begin());
  const std::vector<std::string> texts = texts_of_all(text);
  std::string_view a = texts[0], b = texts[p];
  const auto take = [](std::string_view& rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line.empty() ? std::string("nothing more") : line;
  };
  std::string first, second;
  do first = take(a), second = take(b);
  while (first == second && !(a.empty() && b.empty()));
  Message(function)
      .problem("processes 0 and " + std::to_string(p) + " " + what)
      .offender("process 0: " + first)
      .offender("process " + std::to_string(p) + ": " + second)
      .rule("all processes come to it with one tree, of one step")
      .from(loc)
      .advice("look at what makes the trees differ: a condition on process_index()?")
      .raise<TreeError>();
}

}  // namespace tessera::inline v0::checkpoints
