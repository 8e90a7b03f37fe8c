#include "stablehlo/bytecode/attribute_reader.h"
#include "stablehlo/text/parser.h"

#include <limits>

namespace tessera::inline v0::stablehlo {

namespace {

using TypeRecord = TypeData;

// The types of VHLO by their codes, which are never reused for other types. Composite types have no
// name here.
constexpr std::string_view kNames[] = {
    "i1",       "",         "bf16",     "f16",        "f32",        "f64",
    "f8E4M3FN", "f8E5M2",   "",         "index",      "i4",         "i8",
    "i16",      "i32",      "i64",      "ui4",        "ui8",        "ui16",
    "ui32",     "ui64",     "",         "",           "",           "",
    "",         "",         "",         "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ",
    "",         "i2",       "ui2",      "none",       "tf32",       "f8E4M3",
    "f8E3M4",   "f4E2M1FN", "f6E2M3FN", "f6E3M2FN",   "f8E8M0FNU"};
enum TypeCode {
  kComplex = 1,
  kFunction = 8,
  kTensorType = 20,
  kTensorWithEncoding = 21,
  kToken = 22,
  kTuple = 23,
  kQuantized = 24,
  kUnranked = 25,
  kQuantizedPerAxis = 30,
  kFuture = 42,
};

TypeRecord token_type() {
  TypeRecord t;
  t.kind = TypeRecord::token;
  t.text = "!stablehlo.token";
  return t;
}

}  // namespace

const TypeSyntax& AttributeReader::type(std::size_t index) {
  std::optional<TypeSyntax>& known = types_[index];
  if (!known) {
    const Tables::Entry& e = tables_.types[index];
    if (++depth_ > kDeepest)
      stablehlo::fail(*source_, e.begin,
                      {"types nest deeper than " + std::to_string(kDeepest) + " levels"});
    const TypeRecord t = read_type(e);
    --depth_;
    known = TypeSyntax{new (memory().take(sizeof t)) TypeRecord(t), e.begin};
  }
  return *known;
}

TypeData AttributeReader::read_type(const Tables::Entry& e) {
  if (!e.encoded) {
    Parser p(source_, {e.begin, e.end - (e.end > e.begin ? 1 : 0)});
    return *p.type().data;
  }
  const Bytes in(*source_, e.begin, e.end);
  if (e.dialect == "vhlo") return vhlo_type(in);
  if (e.dialect == "builtin") return builtin_type(in);
  // Operations of Shardy are not versioned and use StableHLO's own types.
  if (e.dialect == "stablehlo" && Bytes(in).number() == 0) return token_type();
  TypeRecord t;
  t.kind = TypeRecord::other;
  t.text = memory().keep("a type of dialect " + std::string(e.dialect));
  return t;
}

// A type may also be an element type.
TypeData AttributeReader::element_type(std::string_view name) {
  TypeRecord t;
  t.kind = TypeRecord::other;
  t.text = t.element = name;
  return t;
}

List<TypeSyntax> AttributeReader::types(Bytes& in) {
  List<TypeSyntax> all;
  for (std::size_t n = in.count("types"); n-- > 0;) all.add(memory(), type(in));
  return all;
}

TypeData AttributeReader::vhlo_type(Bytes in) {
  const std::uint64_t code = in.number();
  if (code < std::size(kNames) && !kNames[code].empty()) return element_type(kNames[code]);
  TypeRecord t;
  switch (code) {
    case kComplex: return element_type(keep(in, "complex<" + std::string(type(in)->element) + ">"));
    case kFunction:
      t.kind = TypeRecord::function;
      t.text = "a function type";
      t.members = types(in);
      t.results = types(in);
      return t;
    case kTensorType: return tensor_type(in);
    case kTensorWithEncoding: attribute(in); return tensor_type(in);
    case kToken: return token_type();
    case kTuple:
    case kFuture:  // a future is represented by its value
      t.kind = TypeRecord::tuple;
      t.text = "a tuple";
      t.members = types(in);
      return t;
    case kUnranked:
      t.kind = TypeRecord::tensor;
      t.ranked = false;
      t.element = type(in)->element;
      t.text = keep(in, "tensor<*x" + std::string(t.element) + ">");
      return t;
    case kQuantized:
    case kQuantizedPerAxis: return element_type("!quant.uniform");
    default:
      t.kind = TypeRecord::other;
      t.text = memory().keep("type code " + std::to_string(code));
      return t;
  }
}

TypeData AttributeReader::builtin_type(Bytes in) {
  const std::uint64_t code = in.number();
  switch (code) {
    case 0: {  // its width; the two low bits tell whether it is signed
      const std::uint64_t n = in.number();
      return element_type(memory().keep(((n & 3) == 2 ? "ui" : "i") + std::to_string(n >> 2)));
    }
    case 1: return element_type("index");
    case 3: return element_type("bf16");
    case 4: return element_type("f16");
    case 5: return element_type("f32");
    case 6: return element_type("f64");
    case 9: return element_type(memory().keep("complex<" + std::string(type(in)->element) + ">"));
    case 13: return tensor_type(in);
    default: {
      TypeRecord t;
      t.kind = TypeRecord::other;
      t.text = memory().keep("builtin type code " + std::to_string(code));
      return t;
    }
  }
}

TypeData AttributeReader::tensor_type(Bytes& in) {
  TypeRecord t;
  t.kind = TypeRecord::tensor;
  const std::size_t rank = in.count("dimensions");
  if (rank > kDeepest) in.fail("a tensor has at most " + std::to_string(kDeepest) + " dimensions");
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t d = in.signed_number();
    if (d < 0 && d != std::numeric_limits<std::int64_t>::min())
      in.fail("a dimension of " + std::to_string(d));
    t.dims.add(memory(), d < 0 ? kDynamic : d);
  }
  t.element = type(in)->element;
  std::string text = "tensor<";
  for (const std::int64_t d : t.dims) text += (d == kDynamic ? "?" : std::to_string(d)) + "x";
  t.text = keep(in, text + std::string(t.element) + ">");
  return t;
}

}  // namespace tessera::inline v0::stablehlo
