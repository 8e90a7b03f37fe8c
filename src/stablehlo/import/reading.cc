// Reads attributes of operations, with their defaults.
#include "ir/host_array.h"
#include "stablehlo/import/importer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tessera::inline v0::stablehlo {

Reading::Reading(Importer& i, const Scope& s, const OperationSyntax& o)
    : importer(i),
      scope(s),
      op(o),
      b(s.builder()),
      operands(std::move(i.spare.bound)),
      in(std::move(i.spare.values)) {
  operands.clear();
  in.clear();
  for (const UseSyntax& u : op.operands) {
    operands.push_back(scope.read(u));
    in.insert(in.end(), operands.back().leaves.begin(), operands.back().leaves.end());
  }
}

Reading::~Reading() { importer.spare = {std::move(operands), std::move(in)}; }

void Reading::refuse(const std::string& problem, const std::string& rule,
                     const std::string& advice) const {
  fail(*importer.module.source, op.at, {std::string(op.name) + ": " + problem, rule, advice});
}

void Reading::need_operands(std::size_t n) const {
  if (in.size() != n || operands.size() != n)
    refuse("it has " + std::to_string(op.operands.size()) + " operands, and takes " +
           std::to_string(n));
}
void Reading::need_regions(std::size_t n) const {
  if (op.regions.size() != n)
    refuse("it has " + std::to_string(op.regions.size()) + " regions, and takes " +
           std::to_string(n));
}

const AttributeSyntax& Reading::need(std::string_view name) const {
  const AttributeSyntax* a = find(name);
  if (!a) refuse("it has no attribute " + std::string(name));
  return *a;
}
Ints Reading::ints(std::string_view name) const {
  return read_integers(importer.module, need(name));
}
Ints Reading::ints_or(std::string_view name, Ints otherwise) const {
  return find(name) ? ints(name) : std::move(otherwise);
}
IntLists Reading::rows_or(std::string_view name, IntLists otherwise) const {
  if (!find(name)) return otherwise;
  IntLists rows = read_rows(importer.module, need(name));
  for (const Ints& row : rows)
    if (row.size() != 2)
      refuse(std::string(name) + " has " + std::to_string(row.size()) + " columns, and takes 2");
  return rows;
}
std::int64_t Reading::integer(std::string_view name) const {
  const AttributeSyntax& a = need(name);
  if (a.kind != AttributeSyntax::integer)
    fail(*importer.module.source, a.at,
         {std::string(name) + " of " + std::string(op.name) + " should be an integer"});
  return a.integer_value;
}
std::int64_t Reading::integer_or(std::string_view name, std::int64_t otherwise) const {
  return find(name) ? integer(name) : otherwise;
}
bool Reading::flag_or(std::string_view name, bool otherwise) const {
  const AttributeSyntax* a = find(name);
  if (!a) return otherwise;
  if (a->kind == AttributeSyntax::unit) return true;
  if (a->kind != AttributeSyntax::boolean)
    fail(*importer.module.source, a->at,
         {std::string(name) + " of " + std::string(op.name) + " should be true or false"});
  return a->integer_value != 0;
}
double Reading::real_or(std::string_view name, double otherwise) const {
  const AttributeSyntax* a = find(name);
  if (!a) return otherwise;
  double value = 0;
  const char *begin = a->text.data(), *end = begin + a->text.size();
  if (std::from_chars(begin, end, value).ptr != end || a->text.empty())
    fail(*importer.module.source, a->at,
         {std::string(name) + " of " + std::string(op.name) + " should be a number"});
  return value;
}
std::string Reading::word_or(std::string_view name, std::string otherwise) const {
  const AttributeSyntax* a = find(name);
  if (!a) return otherwise;
  if (a->kind == AttributeSyntax::type) return std::string(a->value_type->text);
  return std::string(a->text);
}
Ints Reading::field(const AttributeSyntax& fields, std::string_view name) const {
  const AttributeSyntax* a = stablehlo::find(fields.entries, name);
  if (!a) return {};
  if (a->kind == AttributeSyntax::integer) return {a->integer_value};
  return read_integers(importer.module, *a);
}

Type Reading::result(std::size_t i) const {
  if (i < settled_results.size()) return settled_results[i];
  if (i >= op.result_types.size())
    refuse("the type of result " + std::to_string(i) + " is not declared");
  return importer.type(op.result_types[i]);
}

void Reading::check_dims(const Ints& dims, int rank, const char* what) const {
  Ints seen;
  for (std::int64_t d : dims) {
    if (d < 0 || d >= rank)
      refuse(std::string(what) + " has dimension " + std::to_string(d) + " of an array of " +
             std::to_string(rank) + " dimensions");
    if (std::find(seen.begin(), seen.end(), d) != seen.end())
      refuse(std::string(what) + " has dimension " + std::to_string(d) + " twice");
    seen.push_back(d);
  }
}

DType Reading::result_dtype(std::size_t i) const {
  if (i >= op.result_types.size())
    refuse("the type of result " + std::to_string(i) + " is not declared");
  return importer.declared(op.result_types[i]).dtype;
}

Ints Reading::settled(std::size_t operand) const {
  const std::optional<Ints> found = known_integers(in[operand]);
  if (!found)
    refuse("its operand " + std::to_string(operand) + " is not known before the program runs",
           "operands that decide a shape follow from constants and the arguments' shapes",
           "export the model for fixed shapes");
  return *found;
}

Shape Reading::result_shape(std::size_t operand) const {
  if (op.result_types.empty()) refuse("the type of result 0 is not declared");
  const Shape shape = importer.declared(op.result_types[0]).shape;
  if (std::find(shape.begin(), shape.end(), kDynamic) == shape.end()) return result().shape;
  if (operand >= in.size()) return result().shape;
  const Ints dims = settled(operand);
  for (std::int64_t d : dims)
    if (d < 0) refuse("a dimension of its result is " + std::to_string(d));
  const Shape found(dims.begin(), dims.end());
  need_countable("load_stablehlo", found, {});
  return found;
}

std::optional<Ints> Reading::known_integers(Value v) const {
  const Known* k = scope.level().settle(v);
  if (!k || !is_integer(k->literal.dtype) || k->shape.count() > 64) return std::nullopt;
  const bool splat = k->literal.shape != k->shape;
  Ints out;
  dispatch(k->literal.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < k->shape.count(); ++i) {
      T value{};
      std::memcpy(&value,
                  k->literal.bytes->data() + (splat ? 0 : static_cast<std::size_t>(i)) * sizeof(T),
                  sizeof(T));
      if constexpr (std::is_integral_v<T>) out.push_back(static_cast<std::int64_t>(value));
    }
  });
  return out;
}

std::optional<double> Reading::known_number(Value v) const {
  const Known* k = known(v);
  if (!k || k->literal.shape.count() != 1 || k->literal.bytes->empty()) return std::nullopt;
  return HostArray::from(k->literal).number(0);
}

}  // namespace tessera::inline v0::stablehlo
