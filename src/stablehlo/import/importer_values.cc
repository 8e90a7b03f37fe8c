// Types and constants, and regions applied element by element.
#include "ir/interpret.h"
#include "ir/op.h"
#include "stablehlo/import/importer.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo {

namespace {

// A larger constant becomes an input of the program instead of a part of its text.
constexpr std::int64_t kMostInProgram = 16;

}  // namespace

const Type& Importer::type(const TypeSyntax& t) const {
  const Type& d = declared(t);
  for (std::int64_t extent : d.shape)
    if (extent == kDynamic)
      fail(*module.source, t.at,
           {shown(t->text) + " has a dimension that is not known", "",
            "export the model for fixed shapes"});
  need_countable("load_stablehlo", d.shape, {});
  return d;
}

const Importer::KnownType& Importer::known_type(const TypeSyntax& t) const {
  if (t.data == last_type_) return *last_known_type_;
  if (const auto known = types_.find(t.data); known != types_.end()) {
    last_type_ = t.data;
    return *(last_known_type_ = &known->second);
  }
  const auto refuse = [&](const std::string& problem, const std::string& advice) {
    fail(*module.source, t.at, {problem, "", advice});
  };
  if (t->kind != TypeData::tensor)
    refuse(shown(t->text) + " is no array", "only arrays, tuples of them and tokens are supported");
  if (!t->ranked)
    refuse(shown(t->text) + " has no known rank", "export the model for fixed shapes");
  Shape shape;
  for (std::int64_t d : t->dims) shape.push_back(d);
  const std::optional<DType> dtype = dtype_of_element(t->element);
  if (!dtype)
    refuse("elements of type " + shown(t->element) + " are not supported",
           "convert the model to booleans, integers, floats or complex numbers of known widths");
  return types_.emplace(t.data, KnownType{Type(*dtype, shape), narrow_of(t->element)})
      .first->second;
}

bool fits(const Type& declared, const Type& got) {
  if (declared.dtype != got.dtype || declared.shape.rank() != got.shape.rank()) return false;
  for (int d = 0; d < got.shape.rank(); ++d)
    if (declared.shape[d] != kDynamic && declared.shape[d] != got.shape[d]) return false;
  return true;
}
bool fits(const std::vector<Type>& declared, const std::vector<Type>& got) {
  return std::equal(declared.begin(), declared.end(), got.begin(), got.end(),
                    [](const Type& d, const Type& g) { return fits(d, g); });
}

std::vector<Type> Importer::leaf_types(const TypeSyntax& t) const {
  if (t->kind == TypeData::token) return {};
  if (t->kind != TypeData::tuple) return {declared(t)};
  std::vector<Type> out;
  for (const TypeSyntax& m : t->members)
    for (Type& leaf : leaf_types(m)) out.push_back(std::move(leaf));
  return out;
}

Value Importer::constant(const Scope& scope, const AttributeSyntax& attribute) {
  // A separate program cannot read inputs of the outermost one.
  const bool alone = !scope.level().is_inside(*top_);
  if (const auto it = large_.find(&attribute); it != large_.end() && !alone)
    return scope.level().here(it->second);
  Data d = read_data(module, attribute);
  need_countable("load_stablehlo", d.shape, {});
  if (d.splat || d.shape.count() <= kMostInProgram || alone)
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
