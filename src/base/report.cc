#include <tessera/detail/report.h>
#include <tessera/detail/visible.h>

#include <algorithm>
#include <cstddef>

namespace tessera::inline v0::detail {

namespace {

std::string note_of(std::ptrdiff_t lines) {
  return "\n      (" + std::to_string(lines) + (lines == 1 ? " more line)" : " more lines)");
}

}  // namespace

std::string report_text(std::string_view text, std::size_t most) {
  constexpr std::size_t kNote = 48;  // at least the length of "..." and the longest note
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return "an error without a text";
  std::string out;
  for (const char c : visible_lines(text)) {
    out += c;
    if (c == '\n') out += "    ";
  }
  if (out.size() <= most) return out;
  std::size_t end = out.rfind('\n', most - kNote);
  std::string rest;
  if (end == std::string::npos) {
    end = most - kNote;
    while ((static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;  // not within a character
    rest = "...";
  }
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(end);
  if (const auto lines = std::count(begin, out.end(), '\n')) rest += note_of(lines);
  out.resize(end);
  return out + rest;
}

}  // namespace tessera::inline v0::detail
