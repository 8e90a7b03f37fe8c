#include "stablehlo/bytecode/attribute_reader.h"
#include "stablehlo/text/parser.h"

#include <algorithm>
#include <iterator>

namespace tessera::inline v0::stablehlo {

namespace {

using A = AttributeSyntax;
using ElementType = TypeSyntax;

// Real programs need fewer than one part per byte of the file.
constexpr std::size_t kPartsPerByte = 4, kPartsOfAny = 1 << 16;
// A text or list of dimensions of this size takes at most the memory of one part.
constexpr std::size_t kTextOfPart = 64, kDimsOfPart = 16;
constexpr int kWidest = 1000;  // bits, more than any number has

// The codes of VHLO's attributes, which are never reused for other attributes.
enum AttributeCode {
  kList = 1,
  kBool,
  kComparisonDirection,
  kComparisonType,
  kApiVersion,
  kDictionary,
  kFftType,
  kFloat,
  kInteger,
  kAlias,
  kPrecision,
  kRngAlgorithm,
  kRngDistribution,
  kString,
  kTensor,
  kTranspose,
  kType,
  kBounds,
  kAccuracyMode,
  kAccuracy,
  kPartOfAxis,
  kAxis,
  kGroupsOfMesh,
  kMeshAxis,
  kMesh,
};

struct Enumeration {
  AttributeCode code;
  std::vector<std::string_view> values;  // by number; empty if the number is unused
};
const std::vector<Enumeration>& enumerations() {
  static const auto* const all = new std::vector<Enumeration>{
      {kComparisonDirection, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
      {kComparisonType, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
      {kApiVersion,
       {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"}},
      {kFftType, {"FFT", "IFFT", "RFFT", "IRFFT"}},
      {kPrecision, {"DEFAULT", "HIGH", "HIGHEST"}},
      {kRngAlgorithm, {"DEFAULT", "THREE_FRY", "PHILOX"}},
      {kRngDistribution, {"", "UNIFORM", "NORMAL"}},
      {kTranspose, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
      {kAccuracyMode, {"DEFAULT", "HIGHEST", "TOLERANCE"}},
  };
  return *all;
}

A made(A::Kind kind, std::size_t at) {
  A a;
  a.kind = kind;
  a.at = at;
  return a;
}

int width_of(std::string_view element) {
  if (element == "index") return 64;
  int width = 0;
  for (const char c : element) width = is_digit(c) ? std::min(width * 10 + (c - '0'), kWidest) : 0;
  return width;
}

// The number of attributes and types that a type consists of, including itself.
std::size_t parts_of(const ElementType& t) {
  std::size_t n = 1 + t->dims.size() / kDimsOfPart;
  for (const ElementType& m : t->members) n += parts_of(m);
  for (const ElementType& r : t->results) n += parts_of(r);
  return n;
}
std::size_t parts_of(const A& a) {
  std::size_t n = parts_of(a.value_type) + a.text.size() / kTextOfPart;
  for (const A& i : a.items) n += parts_of(i);
  for (const NamedAttribute& e : a.entries) n += parts_of(e.value);
  return n;
}

void skip_signed(Bytes& in) {
  for (std::size_t n = in.count("numbers"); n-- > 0;) in.signed_number();
}

}  // namespace

const AttributeSyntax& AttributeReader::attribute(std::size_t index) {
  std::optional<A>& known = attributes_[index];
  if (!known) {
    const Tables::Entry& e = tables_.attributes[index];
    if (++depth_ > kDeepest)
      stablehlo::fail(*source_, e.begin,
                      {"attributes nest deeper than " + std::to_string(kDeepest) + " levels"});
    A a = read_attribute(e);
    a.at = e.begin;
    --depth_;
    known = a;
  }
  return *known;
}

std::optional<AttributeSyntax> AttributeReader::optional_attribute(Bytes& in) {
  const std::uint64_t head = in.number();
  if (!(head & 1)) return std::nullopt;
  const std::uint64_t index = head >> 1;
  if (index >= attributes_.size())
    in.fail("attribute " + std::to_string(index) + " is named, and there are " +
            std::to_string(attributes_.size()));
  const A& a = attribute(static_cast<std::size_t>(index));
  spend(in, parts_of(a));
  return a;
}

void AttributeReader::spend(const Bytes& in, std::size_t parts) {
  spent_ += parts;
  const std::size_t limit = source_->text.size() * kPartsPerByte + kPartsOfAny;
  if (spent_ > limit)
    in.fail("attributes and types that come to more than " + std::to_string(limit) +
            " where they are used");
}

AttributeSyntax AttributeReader::attribute(Bytes& in) {
  const A& a = attribute(in.index(attributes_.size(), "attribute"));
  spend(in, parts_of(a));
  return a;
}

TypeSyntax AttributeReader::type(Bytes& in) { return type(in, in.index(types_.size(), "type")); }

TypeSyntax AttributeReader::type(const Bytes& in, std::size_t index) {
  const ElementType& t = type(index);
  spend(in, parts_of(t));
  return t;
}

std::string_view AttributeReader::string(Bytes& in) {
  const std::string_view text = tables_.strings[in.index(tables_.strings.size(), "string")];
  spend(in, text.size() / kTextOfPart);
  return text;
}

std::string_view AttributeReader::keep(const Bytes& in, std::string_view text) {
  spend(in, text.size() / kTextOfPart);
  return memory().keep(text);
}

AttributeSyntax AttributeReader::read_attribute(const Tables::Entry& e) {
  if (!e.encoded) {
    Parser p(source_, {e.begin, e.end - (e.end > e.begin ? 1 : 0)});
    return p.attribute();
  }
  const Bytes in(*source_, e.begin, e.end);
  if (e.dialect == "vhlo") return vhlo_attribute(in);
  if (e.dialect == "builtin") return builtin_attribute(in);
  if (e.dialect == "sdy") return sdy_attribute(in);
  A a = made(A::other, e.begin);
  a.text = e.dialect;
  return a;
}

AttributeSyntax AttributeReader::vhlo_attribute(Bytes in) {
  const std::size_t at = in.at();
  const std::uint64_t code = in.number();
  for (const Enumeration& e : enumerations())
    if (static_cast<std::uint64_t>(e.code) == code) {
      A a = made(A::enumerator, at);
      const std::size_t n = in.index(e.values.size(), "value of an enumeration");
      a.text = e.values[n];
      return a;
    }
  switch (code) {
    case kList: {
      A a = made(A::list, at);
      for (std::size_t n = in.count("attributes"); n-- > 0;) a.items.add(memory(), attribute(in));
      return a;
    }
    case kBool: {
      A a = made(A::boolean, at);
      a.integer_value = in.number() != 0;
      return a;
    }
    case kDictionary: {
      A a = made(A::dict, at);
      a.entries = dictionary(in);
      return a;
    }
    case kFloat: return real(in);
    case kInteger: return integer(in);
    case kString: {
      A a = made(A::string, at);
      a.text = string(in);
      return a;
    }
    case kTensor: return tensor(in);
    case kType: {
      A a = made(A::type, at);
      a.value_type = type(in);
      return a;
    }
    case kAlias:
      skip_signed(in);
      in.signed_number();
      skip_signed(in);
      return made(A::other, at);
    case kBounds: skip_signed(in); return made(A::other, at);
    case kAccuracy: return made(A::other, at);
    case kPartOfAxis: {
      A a = made(A::integers, at);
      for (int i = 0; i < 2; ++i) a.values.add(memory(), in.signed_number());
      return a;
    }
    case kAxis: {
      A a = made(A::fields, at);
      a.entries.add(memory(), {"name", attribute(in)});
      if (in.number()) a.entries.add(memory(), {"sub_axis_info", attribute(in)});
      return a;
    }
    case kGroupsOfMesh: {
      A a = made(A::fields, at);
      a.entries.add(memory(), {"mesh", attribute(in)});
      a.entries.add(memory(), {"axes", attribute(in)});
      return a;
    }
    case kMeshAxis: {
      A a = made(A::fields, at);
      a.entries.add(memory(), {"name", attribute(in)});
      A size = made(A::integer, in.at());
      size.integer_value = in.signed_number();
      a.entries.add(memory(), {"size", size});
      return a;
    }
    case kMesh: {
      A a = made(A::fields, at);
      a.entries.add(memory(), {"axes", attribute(in)});
      if (const std::uint64_t known = in.number()) {
        if (!(known & 1) || known >> 1 >= attributes_.size())
          in.fail("an attribute that is not there");
        const A& devices = attribute(static_cast<std::size_t>(known >> 1));
        spend(in, parts_of(devices));
        a.entries.add(memory(), {"device_ids", devices});
      }
      return a;
    }
    default:
      in.fail("attribute code " + std::to_string(code) + ", which is not known",
              "codes 1 to 25 are");
  }
}

// MLIR's builtin attributes, from which sharding annotations are built.
AttributeSyntax AttributeReader::builtin_attribute(Bytes in) {
  const std::size_t at = in.at();
  switch (in.number()) {
    case 0: {
      A a = made(A::list, at);
      for (std::size_t n = in.count("attributes"); n-- > 0;) a.items.add(memory(), attribute(in));
      return a;
    }
    case 1: {
      A a = made(A::dict, at);
      a.entries = dictionary(in);
      return a;
    }
    case 2:
    case 3: {
      A a = made(A::string, at);
      a.text = string(in);
      return a;
    }
    case 4: {
      A a = made(A::symbol, at);
      a.text = attribute(in).text;
      return a;
    }
    case 6: {
      A a = made(A::type, at);
      a.value_type = type(in);
      return a;
    }
    case 7: return made(A::unit, at);
    case 8: return integer(in);
    case 14: {  // a location that consists of a name
      A a = made(A::string, at);
      a.text = attribute(in).text;
      return a;
    }
    default: return made(A::other, at);  // locations, and kinds that no operation uses
  }
}

Attributes AttributeReader::dictionary(Bytes& in) {
  Attributes entries;
  for (std::size_t n = in.count("attributes"); n-- > 0;) {
    const std::string_view name = attribute(in).text;
    entries.add(memory(), {name, attribute(in)});
  }
  return entries;
}

// Integers of up to 8 bits are a byte, those of up to 64 bits a signed number.
AttributeSyntax AttributeReader::integer(Bytes& in) {
  A a = made(A::integer, in.at());
  a.value_type = type(in);
  const std::string_view element = a.value_type->element;
  const int width = width_of(element);
  if (width < 1 || width > 64) in.fail("an integer of type " + shown(element));
  std::uint64_t bits = width <= 8 ? in.byte() : static_cast<std::uint64_t>(in.signed_number());
  const bool is_unsigned = element.starts_with("u");
  if (width < 64) {
    bits &= (std::uint64_t{1} << width) - 1;
    if (!is_unsigned && width > 1 && bits >> (width - 1)) bits |= ~std::uint64_t{0} << width;
  }
  if (element == "i1") a.kind = A::boolean;
  a.integer_value = static_cast<std::int64_t>(bits);
  return a;
}

AttributeSyntax AttributeReader::real(Bytes& in) {
  A a = made(A::real, in.at());
  a.value_type = type(in);
  const int width = width_of(a.value_type->element);
  if (width < 1 || width > 64) in.fail("a number of type " + shown(a.value_type->element));
  std::uint64_t bits = width <= 8 ? in.byte() : static_cast<std::uint64_t>(in.signed_number());
  if (width < 64) bits &= (std::uint64_t{1} << width) - 1;
  // The text spells numbers without a short decimal form like this.
  constexpr char digits[] = "0123456789ABCDEF";
  std::string text = "0x";
  for (int i = (width + 3) / 4; i-- > 0;) text += digits[bits >> (4 * i) & 15];
  a.text = memory().keep(text);
  return a;
}

AttributeSyntax AttributeReader::tensor(Bytes& in) {
  A a = made(A::bytes, in.at());
  a.value_type = type(in);
  a.data = in.take(in.count("bytes of a constant"), "a constant");
  return a;
}

}  // namespace tessera::inline v0::stablehlo
