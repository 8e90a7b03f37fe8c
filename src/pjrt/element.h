// Element types of buffers: how the interface numbers them, how modules spell them, and how the
// runtime stores them.
//
// The runtime stores types narrower than a byte or with 8-bit floats in a wider dtype
// (stablehlo/import/narrow.h). Callers see the bytes that JAX has: one byte for each element. The
// conversion happens where bytes enter and leave.
//
// The runtime stores every block row-major. A caller may ask for another order of dimensions in
// memory; the order is then a label of the block, and decides how strided memory is read.
#pragma once

#include "platforms/abi.h"
#include "stablehlo/import/narrow.h"

#include <tessera/dtype.h>
#include <tessera/shape.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessera::inline v0::pjrt {

struct Element {
  PJRT_Buffer_Type type;
  std::string_view spelling;  // in modules: "f32", "ui8"
  DType dtype;                // in which the runtime stores it
  std::int64_t bytes;         // of an element as callers see it
  const stablehlo::Narrow* narrow = nullptr;

  /// Whether callers' bytes and the runtime's are the same.
  bool is_stored_as_seen() const { return !narrow; }
};

/// Throws a Failure with the code UNIMPLEMENTED if there is no such element type.
const Element& element_of(PJRT_Buffer_Type type);
const Element& element_of(std::string_view spelling);

/// Converts `n` elements from callers' bytes to the runtime's; and back.
void store(const Element& element, const std::byte* seen, std::byte* stored, std::int64_t n);
void show(const Element& element, const std::byte* stored, std::byte* seen, std::int64_t n);

/// The order of dimensions of a row-major block: the last one is the minor one and comes first.
Shape row_major_order(std::size_t rank);
/// The order that a layout's text "{0,1}" names; row-major for another text.
Shape order_of_layout(std::string_view text, std::size_t rank);
bool is_permutation(const Shape& order, std::size_t rank);

}  // namespace tessera::inline v0::pjrt
