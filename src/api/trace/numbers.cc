#include "api/trace/numbers.h"

#include "api/trace/composite.h"

#include <limits>
#include <utility>

namespace tessera::inline v0::detail {

Limits limits_of(DType d) {
  return dispatch(d, [](auto tag) -> Limits {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>)
      return {std::to_string(std::numeric_limits<T>::min()),
              std::to_string(std::numeric_limits<T>::max())};
    else
      return {};
  });
}

std::string number_text(const ArrayImpl& a) {
  return a.type.dtype == DType::uint64 ? std::to_string(a.unsigned_integer)
                                       : std::to_string(a.integer);
}

bool is_integer_number(const Array& x) {
  return x.impl() && x.impl()->is_number && is_integer(x.impl()->type.dtype);
}

int side_of_range(const ArrayImpl& a, DType dtype) {
  auto side = [&](auto value) {
    return dispatch(dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        if (std::cmp_less(value, std::numeric_limits<T>::min())) return -1;
        return std::cmp_greater(value, std::numeric_limits<T>::max()) ? 1 : 0;
      } else {
        return 0;
      }
    });
  };
  return a.type.dtype == DType::uint64 ? side(a.unsigned_integer) : side(a.integer);
}

namespace {
// Whether integer dtype `from` has values that `to` cannot hold.
bool side_of_dtype(DType from, DType to) {
  if (from == to) return false;
  if (is_signed_integer(from) && is_unsigned_integer(to)) return true;
  return size_of(from) > size_of(to) || (size_of(from) == size_of(to) && is_unsigned_integer(from));
}
}  // namespace

void check_fits(const char* function, const Operand& x, DType dtype) {
  if (!x.array.impl() || !is_integer(dtype)) return;
  const ArrayImpl& a = *x.array.impl();
  if (!a.type.weak || !is_integer(a.type.dtype)) return;
  const bool known = a.is_number;
  if (!known && a.traced() && side_of_dtype(a.type.dtype, dtype))
    if (Trace* t = Trace::find(a.trace); t && t->note_bound(a, dtype, function, x.loc)) return;
  // A weak integer that is computed, or is an argument of a trace, has 64 bits if its value needs
  // them.
  const bool wide = !known && size_of(a.type.dtype) == 8 && size_of(dtype) < 8;
  if (known ? side_of_range(a, dtype) == 0 : !wide) return;
  const Limits range = limits_of(dtype);
  Message(function)
      .problem(known ? "the number " + number_text(a) + " is not " +
                           (is_unsigned_integer(dtype) ? "a " : "an ") + std::string(name_of(dtype))
                     : "a number that needs 64 bits meets " + std::string(name_of(dtype)))
      .rule("a bare number takes the dtype of the array that it meets, and " +
            std::string(name_of(dtype)) + " holds " + range.least + " to " + range.most)
      .from(x.loc)
      .advice(std::string("convert the array to a wider dtype first, for example x.astype(ts::") +
              (known && a.type.dtype == DType::uint64 ? "u64" : "i64") + ")")
      .raise<DTypeError>();
}

void check_stored(const char* function, const Array& into, const Operand& x) {
  const Type &holds = need(into, function, x.loc).type,
             &given = need(x.array, function, x.loc).type;
  if (!is_complex(holds.dtype) && is_complex(given.dtype))
    Message(function)
        .problem("an array of " + std::string(name_of(holds.dtype)) + " is to take in " +
                 std::string(name_of(visible_dtype(given))) + " values")
        .rule("an update has its array's dtype, and real arrays have no imaginary parts")
        .from(x.loc)
        .advice("convert the array first, x.astype(ts::c64), or pass real(values)")
        .raise<DTypeError>();
  if (is_integer(holds.dtype) && is_floating(given.dtype))
    Message(function)
        .problem("an array of " + std::string(name_of(holds.dtype)) + " is to take in " +
                 std::string(name_of(visible_dtype(given))) + " values")
        .rule("an update has its array's dtype, and integers would cut the fraction off")
        .from(x.loc)
        .advice("convert the array first, x.astype(ts::f32), or the values where they are whole")
        .raise<DTypeError>();
  check_fits(function, x, holds.dtype);
}

namespace {
void check_all(const char* function, std::span<const Operand* const> operands) {
  bool any = false, first = true;
  for (const Operand* x : operands)
    any |= x->array.impl() && x->array.impl()->type.weak && is_integer(x->array.impl()->type.dtype);
  if (!any) return;
  Type common;
  for (const Operand* x : operands) {
    if (!x->array.impl()) return;  // another check refuses it
    const Type& t = x->array.impl()->type;
    const Promoted p = first ? Promoted{t.dtype, t.weak} : promote_types(common, t);
    first = false;
    common.dtype = p.dtype;
    common.weak = p.weak;
  }
  for (const Operand* x : operands) check_fits(function, *x, common.dtype);
}
}  // namespace

void check_all_fit(const char* function, std::initializer_list<const Operand*> operands) {
  check_all(function, {operands.begin(), operands.size()});
}
void check_all_fit(const char* function, std::span<const Array> operands,
                   std::source_location loc) {
  std::vector<Operand> all;
  std::vector<const Operand*> each;
  for (const Array& x : operands) all.emplace_back(x, loc);
  for (const Operand& x : all) each.push_back(&x);
  check_all(function, each);
}

}  // namespace tessera::inline v0::detail
