// StaticArray: an array whose values are part of the program, as those of a C++ number are.
//
//   auto filter = ts::pmap([](Array x, ts::StaticArray taps) {
//     Array y = 0;
//     for (float w : taps.array().host<float>()) y = w * x + y;    // values, read while tracing
//     return y;
//   }, {.in_axes = {0, ts::replicated}});
//   filter(x, ts::array({0.25, 0.5, 0.25}));
//
// A parameter of this type makes the array that is passed for it static: it is part of the compile
// key, so that each content is traced and compiled anew, and an equal content, whatever object
// holds it, finds the program again. Contents are told apart by dtype, weakness, shape and a
// 128-bit hash of the bytes. In a tree it is a static value: no leaf, nothing to map or to
// differentiate.
//
// Passing an Array reads and hashes it at each call; a StaticArray that is kept has done so once.
// For tables of a few values: jit and pmap warn where the static part of an argument is larger
// than 64 KiB.
#pragma once

#include <tessera/array.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

namespace tessera::inline v0 {

class TESSERA_API StaticArray {
 public:
  /// No array; equal to another such.
  StaticArray() = default;
  /// Waits for the values; TraceError where there are none: x is empty, traced or abstract.
  StaticArray(const Array& x);

  /// The array in host memory order on the default device, not committed; a constant of a function
  /// that uses it while it is traced.
  const Array& array() const { return array_; }
  operator const Array&() const { return array_; }
  std::int64_t nbytes() const { return bytes_; }
  /// By content.
  bool operator==(const StaticArray& other) const { return content_ == other.content_; }

  // What a walk over trees sees.
  auto tessera_fields() { return std::tie(content_, bytes_); }
  static constexpr std::string_view tessera_field_names() { return "content, bytes"; }

 private:
  Array array_;
  std::string content_;  // "f32[3] #<hash>"
  std::int64_t bytes_ = 0;
};

}  // namespace tessera::inline v0
