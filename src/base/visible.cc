#include <tessera/detail/visible.h>

#include <cstdint>
#include <cstdio>

namespace tessera::inline v0::detail {

namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8
};

// Decodes the first UTF-8 character of the text; rejects overlong forms and surrogates.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < n) return {};
  std::uint32_t code = lead & (0xffu >> (n + 1));
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = (n == 3 && code < 0x800) || (n == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (too_long || surrogate || code > 0x10ffff) return {};
  return {code, n};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }
// Line separators, directional marks and overrides, and zero-width spaces. Joiners stay, because
// the spelling of words needs them.
bool changes_others(std::uint32_t code) {
  return code == 0x200b || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0x061c || code == 0xfeff;
}

std::string escaped(std::string_view text, bool lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_of(text);
    const std::size_t n = c.bytes ? c.bytes : 1;
    char code[16];
    if (lines && (c.code == '\n' || c.code == '\t') && c.bytes) {
      out += text[0];
    } else if (!c.bytes || is_control(c.code)) {
      for (std::size_t i = 0; i < n; ++i) {
        std::snprintf(code, sizeof code, "\\x%02x",
                      static_cast<unsigned>(static_cast<unsigned char>(text[i])));
        out += code;
      }
    } else if (changes_others(c.code)) {
      std::snprintf(code, sizeof code, "\\u{%x}", static_cast<unsigned>(c.code));
      out += code;
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n);
  }
  return out;
}

}  // namespace

std::string visible(std::string_view text) { return escaped(text, false); }
std::string visible_lines(std::string_view text) { return escaped(text, true); }

}  // namespace tessera::inline v0::detail
