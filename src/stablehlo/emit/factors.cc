#include "stablehlo/emit/factors.h"

#include "ops/linalg/solve.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::write {

namespace {

std::string layout_text(const Part& part) {
  Names order;
  const int rank = part.type.shape.rank();
  int next = rank - 1;
  if (part.is_matrix) {
    order = {std::to_string(rank - 2), std::to_string(rank - 1)};
    next = rank - 3;
  }
  for (; next >= 0; --next) order.push_back(std::to_string(next));
  const std::string list = order.size() == 1 ? order[0] : "[" + joined(order) + "]";
  return "dense<" + (order.empty() ? "" : list) + "> : tensor<" + std::to_string(rank) + "xindex>";
}

std::string layouts_text(const std::vector<Part>& parts) {
  Names texts;
  for (const Part& p : parts) texts.push_back(layout_text(p));
  return "[" + joined(texts) + "]";
}
std::vector<Type> types_of(const std::vector<Part>& parts) {
  std::vector<Type> types;
  for (const Part& p : parts) types.push_back(p.type);
  return types;
}

}  // namespace

Part info_of(const Type& matrix) {
  const Shape batch(matrix.shape.begin(), matrix.shape.end() - 2);
  return {Type(DType::int32, batch), false};
}

Names custom_call(Writing& w, const LibraryRoutine& routine, const Names& operands,
                  const std::vector<Part>& in, const std::vector<Part>& out) {
  std::string attributes;
  if (!routine.is_replaced)
    attributes = " {mhlo.backend_config = {" + routine.config +
                 "}, operand_layouts = " + layouts_text(in) +
                 ", result_layouts = " + layouts_text(out) + "}";
  else if (!routine.config.empty())
    attributes = " {backend_config = " + quoted(routine.config) + "}";
  return w.block.define("stablehlo.custom_call @" + routine.name + "(" + joined(operands) + ")" +
                            attributes + " : " + types_text(types_of(in)) + " -> " +
                            result_types_text(types_of(out)),
                        out.size());
}

Names by_program(Writing& w, const std::vector<Type>& types, const Names& operands,
                 const std::function<Values(Builder&, const Values&)>& build) {
  Builder b;
  Values in;
  for (const Type& t : types) in.push_back(b.input(t));
  const Values out = build(b, in);
  return w.block.program(*b.finish(out), operands);
}

bool is_complex_matrix(const Writing& w) { return is_complex(w.in_types[0].dtype); }

Names lu_by(Writing& w, const LibraryRoutine& getrf) {
  const Type &x = w.in_types[0], &pivots = w.out_types[1];
  const Names all = custom_call(w, getrf, w.in, {{x}}, {{x}, {pivots, false}, info_of(x)});
  const Names rest = by_program(w, {pivots}, {all[1]}, [&](Builder&, const Values& in) -> Values {
    const Value from_0 = ops::sub(in[0], ops::full_like(in[0], 1));
    return {from_0, ops::permutation_of(from_0, ops::columns_of(w.out_types[2].shape))};
  });
  return {all[0], rest[0], rest[1]};
}

Names qr_by(Writing& w, const LibraryRoutine& geqrf, const LibraryRoutine& orgqr) {
  const Type &x = w.in_types[0], &q = w.out_types[0];
  const std::int64_t m = ops::rows_of(x.shape), n = ops::columns_of(x.shape),
                     columns = ops::columns_of(q.shape);
  const Part scalars{Type(x.dtype, ops::with_vector(x.shape, std::min(m, n))), false};
  const Names all = custom_call(w, geqrf, w.in, {{x}}, {{x}, scalars});
  const Names parts = by_program(w, {x}, {all[0]}, [&](Builder&, const Values& in) -> Values {
    const Value reflectors = ops::submatrix(in[0], 0, m, 0, std::min(n, columns));
    return {
        ops::padded_to(reflectors, m, columns),
        ops::upper_triangle(ops::submatrix(in[0], 0, ops::rows_of(w.out_types[1].shape), 0, n))};
  });
  return {custom_call(w, orgqr, {parts[0], all[1]}, {{q}, scalars}, {{q}})[0], parts[1]};
}

// An array with elements is here a square orthogonal matrix, or the permutation of rows without
// columns.
Names empty_factors(Writing& w) {
  return by_program(w, {}, {}, [&](Builder& b, const Values&) {
    Values out;
    for (const Type& t : w.out_types)
      out.push_back(t.shape.count() == 0  ? ops::zeros(b, t)
                    : is_integer(t.dtype) ? ops::iota(b, t.dtype, t.shape, t.shape.rank() - 1)
                                          : ops::identity_like(b, t.dtype, t.shape));
    return out;
  });
}

}  // namespace tessera::inline v0::stablehlo::write
