// Types and constants, and regions element by element.
#include "ir/interpret.h"
#include "ir/op.h"
#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo {

namespace {

// A constant of more elements is an input of the program, not a part of its text.
constexpr std::int64_t kMostInProgram = 16;

}  // namespace

Type Importer::type(const TypeSyntax& t) const {
  const auto refuse = [&](const std::string& problem, const std::string& advice) {
    fail(*module.source, t.at, {problem, "", advice});
  };
  if (t.kind != TypeSyntax::tensor)
    refuse(shown(t.text) + " is no array", "only arrays, tuples of them and tokens are supported");
  if (!t.ranked) refuse(shown(t.text) + " has no known rank", "export the model for fixed shapes");
  Shape shape;
  for (std::int64_t d : t.dims) {
    if (d == kDynamic)
      refuse(shown(t.text) + " has a dimension that is not known",
             "export the model for fixed shapes");
    shape.push_back(d);
  }
  need_countable("load_stablehlo", shape, {});
  const std::optional<DType> dtype = dtype_of_element(t.element);
  if (!dtype)
    refuse("elements of type " + shown(t.element) + " are not supported",
           "convert the model to one of bool, int8 to int64, uint8 to uint64, float16, bfloat16, "
           "float32, float64");
  return Type(*dtype, shape);
}

std::vector<Type> Importer::leaf_types(const TypeSyntax& t) const {
  if (t.kind == TypeSyntax::token) return {};
  if (t.kind != TypeSyntax::tuple) return {type(t)};
  std::vector<Type> out;
  for (const TypeSyntax& m : t.members)
    for (Type& leaf : leaf_types(m)) out.push_back(std::move(leaf));
  return out;
}

Value Importer::constant(const Scope& scope, const AttributeSyntax& attribute) {
  if (const auto it = large_.find(&attribute); it != large_.end())
    return scope.level().here(it->second);
  Data d = read_data(module, attribute);
  need_countable("load_stablehlo", d.shape, {});
  if (d.splat || d.shape.count() <= kMostInProgram)
    return scope.level().write({std::move(d.literal), d.shape});
  const Value v = top_->builder().input(Type(d.literal.dtype, d.shape));
  out_.constants.push_back(std::move(d.literal));
  large_.emplace(&attribute, v);
  return scope.level().here(v);
}

Values elementwise(Builder& b, const Program& p, const Values& arrays, const Shape& shape) {
  const std::int64_t n = shape.count();
  Values flat;
  for (const Value& v : arrays) flat.push_back(ops::reshape(v, Shape{n}));
  const std::vector<int> dims(arrays.size(), 0);
  const BatchResult r = batch_inline(b, p, flat, dims, n, "");
  Values out;
  for (std::size_t i = 0; i < r.outputs.size(); ++i)
    out.push_back(r.dims[i] == kUnbatched ? ops::broadcast_in_dim(r.outputs[i], shape, {})
                                          : ops::reshape(r.outputs[i], shape));
  return out;
}

}  // namespace tessera::inline v0::stablehlo
