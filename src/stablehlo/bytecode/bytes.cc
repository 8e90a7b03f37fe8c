#include "stablehlo/bytecode/bytes.h"

#include <bit>

namespace tessera::inline v0::stablehlo {

std::uint8_t Bytes::byte() {
  if (at_ == end_) fail("the file ends here, and a number is expected");
  return static_cast<std::uint8_t>(source_->text[at_++]);
}

std::uint64_t Bytes::number() {
  const std::uint8_t first = byte();
  const int more = first ? std::countr_zero(first) : 8;
  std::uint64_t value = first;
  for (int i = 0; i < more; ++i) {
    const std::uint64_t next = byte();
    // If eight more bytes follow, the first byte has no payload.
    value = more == 8 ? (i == 0 ? next : value | next << (8 * i)) : value | next << (8 * (i + 1));
  }
  return more == 8 ? value : value >> (more + 1);
}

std::int64_t Bytes::signed_number() {
  const std::uint64_t n = number();
  return static_cast<std::int64_t>((n >> 1) ^ (~(n & 1) + 1));
}

std::size_t Bytes::count(const char* what) {
  const std::size_t before = at_;
  const std::uint64_t n = number();
  if (n > left()) {
    at_ = before;
    fail(std::to_string(n) + " " + what + " are announced, and " + std::to_string(left()) +
         " bytes are left");
  }
  return static_cast<std::size_t>(n);
}

std::size_t Bytes::index(std::size_t limit, const char* what) {
  const std::size_t before = at_;
  const std::uint64_t n = number();
  if (n >= limit) {
    at_ = before;
    fail(std::string(what) + " " + std::to_string(n) + " is named, and there are " +
         std::to_string(limit));
  }
  return static_cast<std::size_t>(n);
}

std::string_view Bytes::take(std::size_t n, const char* what) {
  if (n > left())
    fail(std::string(what) + " of " + std::to_string(n) + " bytes, of which " +
         std::to_string(left()) + " are there");
  const std::string_view t = std::string_view(source_->text).substr(at_, n);
  at_ += n;
  return t;
}

std::string_view Bytes::text() {
  const std::string_view rest = std::string_view(source_->text).substr(at_, left());
  const std::size_t zero = rest.find('\0');
  if (zero == rest.npos) fail("a text without an end");
  at_ += zero + 1;
  return rest.substr(0, zero);
}

void Bytes::align(std::size_t alignment) {
  if (!std::has_single_bit(alignment))
    fail("an alignment of " + std::to_string(alignment) + ", which is no power of two");
  const std::size_t padding = (alignment - at_ % alignment) % alignment;
  take(padding, "padding");
}

Bytes Bytes::part(std::size_t n, const char* what) {
  const std::size_t begin = at_;
  take(n, what);
  return Bytes(*source_, begin, begin + n);
}

}  // namespace tessera::inline v0::stablehlo
