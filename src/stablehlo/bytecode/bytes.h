// Reads the numbers of MLIR's bytecode one after the other, never past the end.
#pragma once

#include "stablehlo/text/source.h"

#include <cstdint>

namespace tessera::inline v0::stablehlo {

class Bytes {
 public:
  Bytes(const Source& source, std::size_t begin, std::size_t end)
      : source_(&source), at_(begin), end_(end) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return end_ - at_; }
  std::uint8_t byte();
  /// A variable-length number: the first byte is followed by as many bytes as it has trailing zero
  /// bits, least significant first.
  std::uint64_t number();
  /// 0, -1, 1, -2, ... encoded as 0, 1, 2, 3, ...
  std::int64_t signed_number();
  /// A count of items, each of which takes at least one byte; it is checked against the bytes left,
  /// so that a file cannot request more memory than its size.
  std::size_t count(const char* what);
  /// A number below `limit`.
  std::size_t index(std::size_t limit, const char* what);
  std::string_view take(std::size_t n, const char* what);
  /// The text up to the next zero byte, which is consumed.
  std::string_view text();
  void align(std::size_t alignment);
  /// A reader of only the next `n` bytes.
  Bytes part(std::size_t n, const char* what);
  [[noreturn]] void fail(const std::string& problem, const std::string& rule = {},
                         const std::string& advice = {}) const {
    stablehlo::fail(*source_, at_, {problem, rule, advice});
  }
  const Source& source() const { return *source_; }

 private:
  const Source* source_;
  std::size_t at_, end_;
};

}  // namespace tessera::inline v0::stablehlo
