#include "ops/indexing/index_parts.h"

#include "ops/local.h"

namespace tessera::inline v0::ops {

namespace {
Value integer_like(Value x, std::int64_t number) {
  return full_like(x, static_cast<double>(number));
}
}  // namespace

Value wide_index(Value x) {
  if (x.dtype() == DType::int64) return x;
  if (x.dtype() == DType::uint64) x = min(x, integer_like(x, std::int64_t{1} << 62));
  return convert(x, DType::int64);
}

Value moved_inside(Value index, std::int64_t last) {
  return clamp(integer_like(index, 0), index, integer_like(index, last));
}

Value lies_inside(Value index, std::int64_t last) {
  return and_(ge(index, integer_like(index, 0)), le(index, integer_like(index, last)));
}

Value from_part(Value index, const Strings& axes, std::int64_t parts, std::int64_t part) {
  Value start = part_start(*index.builder, index.dtype(), axes, parts, part);
  return sub(index, everywhere(start, index.shape()));
}

Values index_components(Value indices, int vector_dim) {
  Value all = wide_index(indices);
  if (vector_dim == indices.rank()) return {all};
  Shape one = indices.shape();
  one.erase(one.begin() + vector_dim);
  Values components;
  for (std::int64_t k = 0; k < indices.shape()[vector_dim]; ++k) {
    Ints start(indices.shape().size(), 0), limit = indices.shape().to_vector();
    start[static_cast<std::size_t>(vector_dim)] = k;
    limit[static_cast<std::size_t>(vector_dim)] = k + 1;
    components.push_back(reshape(slice(all, start, limit, Ints(start.size(), 1)), one));
  }
  return components;
}

Value index_vectors(const Values& components, int vector_dim) {
  const Shape& one = components[0].shape();
  if (components.size() == 1 && vector_dim == one.rank()) return components[0];
  Shape row = one;
  row.insert(row.begin() + vector_dim, 1);
  Values rows;
  for (Value c : components) rows.push_back(reshape(c, row));
  return concatenate(rows, vector_dim);
}

}  // namespace tessera::inline v0::ops
