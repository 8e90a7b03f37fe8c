// Reads the numbers of MLIR's bytecode, one behind the other and never beyond the end.
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
  /// As many bytes more as the first one has zeros at its low end, least significant first.
  std::uint64_t number();
  /// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
  std::int64_t signed_number();
  /// How many of something follow, each of which takes a byte at least; so a file cannot ask for
  /// more memory than it has bytes.
  std::size_t count(const char* what);
  /// A number below `limit`.
  std::size_t index(std::size_t limit, const char* what);
  std::string_view take(std::size_t n, const char* what);
  /// Up to a zero byte, which is taken too.
  std::string_view text();
  void align(std::size_t alignment);
  /// The next `n` bytes by themselves.
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
