// StaticArray is an array whose values are part of the program, like those of a C++ number.
//
//   auto filter = ts::pmap([](Array x, ts::StaticArray taps) {
//     Array y = 0;
//     for (float w : taps.array().host<float>()) y = w * x + y;    // values, read while tracing
//     return y;
//   }, {.in_axes = {0, ts::replicated}});
//   filter(x, ts::array({0.25, 0.5, 0.25}));
//
// A parameter of this type makes the array that is passed for it static: its content is part of the
// compile key, so each content is traced and compiled separately, and an equal content finds the
// program again, whichever object holds it. Contents are compared by dtype, weak-type flag, shape
// and a 128-bit hash of the bytes. In a tree a StaticArray is a static value: it is not a leaf, and
// cannot be mapped or differentiated.
//
// Passing an Array reads and hashes it on every call, whereas a StaticArray has been hashed once.
// It is intended for tables of a few values: jit and pmap warn if the static part of an argument is
// larger than 64 KiB.
#pragma once

#include <tessera/array.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

namespace tessera::inline v0 {

/// An array whose values belong to the signature of a traced function.
class TESSERA_API StaticArray {
 public:
  /// Holds no array. All such objects are equal.
  StaticArray() = default;
  /// Waits for the values. Throws TraceError if x has none because it is empty, traced or abstract.
  StaticArray(const Array& x);

  /// The array in host memory order on the first CPU device, uncommitted. It is a constant in
  /// functions that use it while they are traced.
  const Array& array() const { return array_; }
  operator const Array&() const { return array_; }
  /// The size of the values in bytes.
  std::int64_t nbytes() const { return bytes_; }
  /// Compares contents.
  bool operator==(const StaticArray& other) const { return content_ == other.content_; }

  // The fields that tree traversal sees.
  auto tessera_fields() { return std::tie(content_, bytes_); }
  static constexpr std::string_view tessera_field_names() { return "content, bytes"; }

 private:
  Array array_;
  std::string content_;  // "f32[3] #<hash>"
  std::int64_t bytes_ = 0;
};

}  // namespace tessera::inline v0
