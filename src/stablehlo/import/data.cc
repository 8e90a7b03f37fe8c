#include "stablehlo/import/data.h"

#include "stablehlo/import/elements.h"
#include "stablehlo/import/narrow.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::stablehlo {

namespace {

struct Element {
  std::string_view name;
  DType dtype;
};
constexpr Element kElements[] = {
    {"i1", DType::boolean},
    {"i8", DType::int8},
    {"i16", DType::int16},
    {"i32", DType::int32},
    {"i64", DType::int64},
    {"ui8", DType::uint8},
    {"ui16", DType::uint16},
    {"ui32", DType::uint32},
    {"ui64", DType::uint64},
    {"f16", DType::float16},
    {"bf16", DType::bfloat16},
    {"f32", DType::float32},
    {"f64", DType::float64},
    {"complex<f32>", DType::complex64},
    {"complex<f64>", DType::complex128},
};

[[noreturn]] void no_data(const ModuleSyntax& m, const AttributeSyntax& a,
                          const std::string& problem) {
  fail(*m.source, a.at, {problem});
}

}  // namespace

std::optional<DType> dtype_of_element(std::string_view element) {
  for (const Element& e : kElements)
    if (e.name == element) return e.dtype;
  if (const Narrow* narrow = narrow_of(element)) return narrow->carrier;
  return std::nullopt;
}

namespace {

// Converts the bits of elements to the numbers that they encode.
Data carried(Data d, const Narrow& type) {
  auto numbers = std::make_shared<std::vector<std::byte>>(d.literal.bytes->size() * sizeof(float));
  for (std::size_t i = 0; i < d.literal.bytes->size(); ++i) {
    const auto x =
        static_cast<float>(number_of_bits(static_cast<std::uint8_t>((*d.literal.bytes)[i]), type));
    std::memcpy(numbers->data() + i * sizeof x, &x, sizeof x);
  }
  d.literal = {type.carrier, d.literal.shape, std::move(numbers)};
  return d;
}

Data read_as(const ModuleSyntax& module, const AttributeSyntax& a, DType dtype);

}  // namespace

Data read_data(const ModuleSyntax& module, const AttributeSyntax& a) {
  const TypeData& type = *a.value_type.data;
  if (type.kind != TypeData::tensor || !type.ranked ||
      std::any_of(type.dims.begin(), type.dims.end(), [](std::int64_t d) { return d < 0; }))
    no_data(module, a, "constant data need a tensor type of known shape");
  const std::optional<DType> dtype = dtype_of_element(type.element);
  if (!dtype) no_data(module, a, "elements of type " + shown(type.element) + " are not supported");
  const Narrow* narrow = narrow_of(type.element);
  if (narrow && is_floating(*dtype)) return carried(read_as(module, a, DType::uint8), *narrow);
  return read_as(module, a, *dtype);
}

namespace {

Data read_as(const ModuleSyntax& module, const AttributeSyntax& a, DType dtype) {
  const TypeData& type = *a.value_type.data;
  if (a.kind == AttributeSyntax::dense) return read_elements(module, a.data, type, dtype);
  if (a.kind == AttributeSyntax::bytes) return read_stored(module, a.data, type, dtype);
  if (a.kind != AttributeSyntax::resource) no_data(module, a, "dense<...> should stand here");
  const auto found = module.resources.find(a.text);
  if (found == module.resources.end())
    fail(*module.source, a.at,
         {"the data of " + shown(a.text) + " are not in this file",
          "dense_resource<name> stands for data at the end of the file",
          "write the module with its constants"});
  // The data follow four bytes of alignment.
  constexpr std::size_t kHead = 10;
  const std::string_view text = found->second;
  if (text.size() < kHead || text.size() % 2 || !text.starts_with("0x"))
    no_data(module, a, "the data of " + shown(a.text) + " are damaged");
  return read_hexadecimal(module, text, kHead, type, dtype);
}

std::int64_t integer_at(const Data& d, std::int64_t i) {
  if (d.splat) i = 0;
  return dispatch(d.literal.dtype, [&](auto tag) -> std::int64_t {
    using T = decltype(tag);
    T value{};
    std::memcpy(&value, d.literal.bytes->data() + static_cast<std::size_t>(i) * sizeof(T),
                sizeof(T));
    if constexpr (std::is_integral_v<T>)
      return static_cast<std::int64_t>(value);
    else
      return 0;  // the caller refuses it
  });
}

// Lists of dimensions and padding are short; the type of a splat could claim any size.
constexpr std::int64_t kMostIntegers = 1 << 16;

}  // namespace

Ints read_integers(const ModuleSyntax& module, const AttributeSyntax& a) {
  if (a.kind == AttributeSyntax::integers) return a.values.to_vector();
  if (a.kind == AttributeSyntax::list) {
    Ints out;
    for (const AttributeSyntax& i : a.items) {
      if (i.kind != AttributeSyntax::integer && i.kind != AttributeSyntax::boolean)
        no_data(module, i, "an integer should stand here");
      out.push_back(i.integer_value);
    }
    return out;
  }
  const Data d = read_data(module, a);
  if (!is_integer(d.literal.dtype) && d.literal.dtype != DType::boolean)
    no_data(module, a, "integers should stand here");
  if (d.shape.count() > kMostIntegers) no_data(module, a, "this list is too long");
  Ints out;
  for (std::int64_t i = 0; i < d.shape.count(); ++i) out.push_back(integer_at(d, i));
  return out;
}

IntLists read_rows(const ModuleSyntax& module, const AttributeSyntax& a) {
  IntLists out;
  if (a.kind == AttributeSyntax::list || a.kind == AttributeSyntax::integers) {
    for (const AttributeSyntax& row : a.items) out.push_back(read_integers(module, row));
    return out;
  }
  const Ints all = read_integers(module, a);
  const List<std::int64_t>& dims = a.value_type->dims;
  if (dims.size() != 2) no_data(module, a, "a tensor of two dimensions should stand here");
  for (std::int64_t i = 0; i < dims[0]; ++i)
    out.emplace_back(all.begin() + i * dims[1], all.begin() + (i + 1) * dims[1]);
  return out;
}

}  // namespace tessera::inline v0::stablehlo
