#include "codegen/calls/matrix_operand.h"

#include <algorithm>
#include <complex>

namespace tessera::inline v0::codegen {

DimGroup group(const Shape& shape, const Ints& dims, const OperandView* view) {
  DimGroup g;
  Shape strides = shape.strides();
  for (std::int64_t d : dims) {
    if (view) {
      for (const OperandView::Part& part : view->dims[static_cast<std::size_t>(d)]) {
        g.extents.push_back(part.extent);
        g.strides.push_back(part.stride);
      }
      continue;
    }
    g.extents.push_back(shape[d]);
    g.strides.push_back(strides[d]);
  }
  return g;
}

void Matrix::settle() {
  packed = !place();
  if (packed) transposed = false, leading = std::max<std::int64_t>(1, columns());
  offsets.clear();
  std::int64_t next = 0;
  Shape strides(batch.strides);
  for_each_index(Shape(batch.extents), [&](const Shape& i) {
    offsets.push_back(packed ? next : first + flat_index(i, strides));
    next += rows() * columns();
  });
}

namespace {

template <class T>
void pack_typed(const Matrix& x, const T* from, auto* to, std::int64_t batch_begin,
                std::int64_t batch_end) {
  Shape rows(x.outer.extents), columns(x.inner.extents), row_strides(x.outer.strides),
      column_strides(x.inner.strides);
  Shape batch_strides(x.batch.strides), batches = x.batch.extents;
  Shape b;
  b.resize(batches.size());
  std::int64_t inner = columns.empty() ? 1 : columns.back(),
               step = columns.empty() ? 1 : column_strides.back();
  Shape outer_columns = columns;
  if (!outer_columns.empty()) outer_columns.pop_back();
  Shape outer_strides = column_strides;
  if (!outer_strides.empty()) outer_strides.pop_back();
  for (std::int64_t i = batch_begin; i < batch_end; ++i) {
    std::int64_t rest = i;
    for (int d = batches.rank(); d-- > 0; rest /= batches[d]) b[d] = rest % batches[d];
    const T* matrix = from + x.first + flat_index(b, batch_strides);
    auto* out = to + i * x.rows() * x.columns();
    for_each_index(rows, [&](const Shape& r) {
      const T* row = matrix + flat_index(r, row_strides);
      for_each_index(outer_columns, [&](const Shape& c) {
        const T* p = row + flat_index(c, outer_strides);
        for (std::int64_t j = 0; j < inner; ++j) {
          using To = std::remove_reference_t<decltype(*out)>;
          *out++ = static_cast<To>(p[j * step]);
        }
      });
    });
  }
}

}  // namespace

void pack(DType dtype, Packing packing, const Matrix& x, const void* from, void* to,
          std::int64_t begin, std::int64_t end) {
  auto copy = [&]<class From, class To>(From, To) {
    pack_typed(x, static_cast<const From*>(from), static_cast<To*>(to), begin, end);
  };
  if (packing == Packing::widened) {
    if (dtype == DType::float16) return copy(float16_t{}, float{});
    if (dtype == DType::bfloat16) return copy(bfloat16_t{}, float{});
  }
  switch (size_of(dtype)) {
    case 1: return copy(std::uint8_t{}, std::uint8_t{});
    case 2: return copy(std::uint16_t{}, std::uint16_t{});
    case 4: return copy(std::uint32_t{}, std::uint32_t{});
    case 8: return copy(std::uint64_t{}, std::uint64_t{});
    default: return copy(std::complex<double>{}, std::complex<double>{});
  }
}

}  // namespace tessera::inline v0::codegen
