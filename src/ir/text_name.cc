#include "ir/text_name.h"

namespace tessera::inline v0 {

bool is_identifier(std::string_view s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (s.empty() || !letter(s[0])) return false;
  for (char c : s)
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

std::string quoted(std::string_view s) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : s) {
    auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (u < 0x20 || u == 0x7f)
      out += {'\\', 'x', kHex[u >> 4], kHex[u & 15]};
    else
      out += c;
  }
  return out + '"';
}

std::string name_text(std::string_view s) { return is_identifier(s) ? std::string(s) : quoted(s); }

}  // namespace tessera::inline v0
