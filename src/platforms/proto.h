// Reads and writes the few protocol buffers of the interface, field by field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::platforms {

/// The fields of a message in the order in which they are written. Throws Error if the bytes are no
/// message.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}
  /// Moves to the next field; false at the end.
  bool next();
  std::uint32_t field() const { return field_; }
  /// The value of a number; a bool is 0 or 1.
  std::int64_t number() const { return static_cast<std::int64_t>(number_); }
  /// The contents of a string, a message or packed numbers.
  std::string_view bytes() const { return bytes_; }
  bool is_bytes() const { return wire_ == 2; }
  /// The value of a float (32 bits) or double (64 bits).
  double real() const;
  /// Appends the numbers of a repeated field, which may be packed.
  void append_to(std::vector<std::int64_t>& list) const;

 private:
  std::uint64_t varint();
  std::string_view rest_, bytes_;
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0, wire_ = 0;
};

class ProtoWriter {
 public:
  void number(std::uint32_t field, std::int64_t value);
  void bytes(std::uint32_t field, std::string_view value);
  void packed(std::uint32_t field, const std::vector<std::int64_t>& values);
  void real(std::uint32_t field, double value);
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value);
  std::string text_;
};

}  // namespace tessera::inline v0::platforms
