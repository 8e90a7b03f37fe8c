#include "platforms/proto.h"

#include <tessera/error.h>

#include <cstring>

namespace tessera::inline v0::platforms {

namespace {
enum Wire : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

[[noreturn]] void no_message() { throw Error("these bytes are not a protocol buffer"); }
}  // namespace

std::uint64_t ProtoReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) no_message();
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  no_message();
}

bool ProtoReader::next() {
  if (rest_.empty()) return false;
  const std::uint64_t key = varint();
  field_ = static_cast<std::uint32_t>(key >> 3);
  wire_ = static_cast<std::uint32_t>(key & 7);
  bytes_ = {};
  number_ = 0;
  const auto fixed = [&](std::size_t n) {
    if (rest_.size() < n) no_message();
    std::memcpy(&number_, rest_.data(), n);
    rest_.remove_prefix(n);
  };
  switch (wire_) {
    case kVarint: number_ = varint(); break;
    case kFixed64: fixed(8); break;
    case kFixed32: fixed(4); break;
    case kBytes: {
      const std::uint64_t n = varint();
      if (rest_.size() < n) no_message();
      bytes_ = rest_.substr(0, n);
      rest_.remove_prefix(n);
      break;
    }
    default: no_message();
  }
  return true;
}

double ProtoReader::real() const {
  if (wire_ == kFixed32) {
    float value;
    std::memcpy(&value, &number_, sizeof value);
    return value;
  }
  double value;
  std::memcpy(&value, &number_, sizeof value);
  return value;
}

void ProtoReader::append_to(std::vector<std::int64_t>& list) const {
  if (!is_bytes()) {
    list.push_back(number());
    return;
  }
  ProtoReader packed(bytes_);
  while (!packed.rest_.empty()) list.push_back(static_cast<std::int64_t>(packed.varint()));
}

void ProtoWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>(value | 0x80));
  text_.push_back(static_cast<char>(value));
}

void ProtoWriter::number(std::uint32_t field, std::int64_t value) {
  varint(std::uint64_t{field} << 3 | kVarint);
  varint(static_cast<std::uint64_t>(value));
}

void ProtoWriter::bytes(std::uint32_t field, std::string_view value) {
  varint(std::uint64_t{field} << 3 | kBytes);
  varint(value.size());
  text_ += value;
}

void ProtoWriter::packed(std::uint32_t field, const std::vector<std::int64_t>& values) {
  ProtoWriter list;
  for (const std::int64_t v : values) list.varint(static_cast<std::uint64_t>(v));
  bytes(field, list.text_);
}

void ProtoWriter::real(std::uint32_t field, double value) {
  varint(std::uint64_t{field} << 3 | kFixed64);
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  text_.append(raw, sizeof raw);
}

}  // namespace tessera::inline v0::platforms
