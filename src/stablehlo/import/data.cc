#include "stablehlo/import/data.h"

#include "stablehlo/text/lexer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tessera::inline v0::stablehlo {

namespace {

struct Element {
  std::string_view name;
  DType dtype;
};
constexpr Element kElements[] = {
    {"i1", DType::boolean},  {"i8", DType::int8},       {"i16", DType::int16},
    {"i32", DType::int32},   {"i64", DType::int64},     {"ui8", DType::uint8},
    {"ui16", DType::uint16}, {"ui32", DType::uint32},   {"ui64", DType::uint64},
    {"f16", DType::float16}, {"bf16", DType::bfloat16}, {"f32", DType::float32},
    {"f64", DType::float64},
};

using Bytes = std::vector<std::byte>;

// Reads the text of the elements, one after the other.
class Reader {
 public:
  Reader(const ModuleSyntax& module, std::string_view text, const TypeSyntax& type, DType dtype)
      : source_(*module.source), text_(text), type_(type), dtype_(dtype) {}

  Data read() {
    Data d;
    d.shape = Shape(type_.dims);
    skip();
    auto bytes = std::make_shared<Bytes>();
    if (at_ == text_.size()) {
      if (d.shape.count() != 0)
        fail("there are no elements, and " + std::string(type_.text) + " has some");
    } else if (now() == '"') {
      hexadecimal(*bytes, d);
    } else if (now() == '[') {
      nested(*bytes);
    } else {
      element(*bytes);
      d.splat = true;
    }
    skip();
    if (at_ != text_.size()) fail(shown(text_.substr(at_)) + " stands behind the elements");
    d.literal = {dtype_, d.splat ? Shape() : d.shape, std::move(bytes)};
    return d;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    stablehlo::fail(source_, static_cast<std::size_t>(text_.data() - source_.text.data()) + at_,
                    {problem});
  }
  char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip() {
    while (now() == ' ' || now() == '\n' || now() == '\t' || now() == '\r') ++at_;
  }

  // Brackets nest as deep as there are dimensions, and hold as many as their extents say.
  void nested(Bytes& out) {
    const std::size_t rank = type_.dims.size();
    std::vector<std::int64_t> seen;  // of each open bracket
    const auto close = [&] {
      if (seen.back() != type_.dims[seen.size() - 1])
        fail("there are " + std::to_string(seen.back()) + " elements in this list, and " +
             std::string(type_.text) + " has " + std::to_string(type_.dims[seen.size() - 1]) +
             " there");
      seen.pop_back();
      if (!seen.empty()) ++seen.back();
    };
    do {
      skip();
      if (now() == '[') {
        if (seen.size() == rank)
          fail("lists nest deeper than " + std::string(type_.text) + " has dimensions");
        ++at_;
        seen.push_back(0);
        skip();
        if (now() != ']') continue;
      } else if (seen.size() == rank) {
        element(out);
        ++seen.back();
      } else if (now() != ']') {
        fail("a list should begin here: " + std::string(type_.text) + " has " +
             std::to_string(rank) + " dimensions");
      }
      for (skip(); now() == ']'; skip()) {
        ++at_;
        close();
        if (seen.empty()) return;
      }
      if (now() != ',') fail("',' or ']' should stand here");
      ++at_;
    } while (true);
  }

  void hexadecimal(Bytes& out, Data& d) {
    const std::size_t begin = at_ + 1, end = std::min(text_.find('"', begin), text_.size());
    std::string_view digits = text_.substr(begin, end - begin);
    if (!digits.starts_with("0x") || digits.size() % 2)
      fail("the data should be '0x' and pairs of hexadecimal digits");
    digits.remove_prefix(2);
    from_digits(out, digits, begin + 2);
    finish_bytes(out, d);
    at_ = end + 1;
  }

 public:
  void from_digits(Bytes& out, std::string_view digits, std::size_t from) {
    out.resize(digits.size() / 2);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int high = hex_value(digits[2 * i]), low = hex_value(digits[2 * i + 1]);
      if (high < 0 || low < 0) at_ = from + 2 * i, fail("this is no hexadecimal digit");
      out[i] = static_cast<std::byte>(high * 16 + low);
    }
  }

  // Bytes of one element stand for all; those of booleans may be packed to bits.
  void finish_bytes(Bytes& out, Data& d) {
    const std::int64_t count = d.shape.count();
    const auto size = static_cast<std::size_t>(size_of(dtype_));
    const auto n = static_cast<std::uint64_t>(count);
    if (out.size() == size && count != 1) {
      d.splat = true;
    } else if (dtype_ == DType::boolean && out.size() != n && out.size() == (n + 7) / 8) {
      Bytes bits = std::move(out);
      out.assign(n, std::byte{0});
      for (std::size_t i = 0; i < n; ++i) out[i] = bits[i / 8] >> (i % 8) & std::byte{1};
    } else if (out.size() % size || out.size() / size != n) {
      fail("the data are " + std::to_string(out.size()) + " bytes, and " + std::string(type_.text) +
           " has " + std::to_string(count) + " elements of " + std::to_string(size));
    }
    if (dtype_ == DType::boolean)
      for (std::byte& b : out) b = b == std::byte{0} ? b : std::byte{1};
  }

 private:
  template <class T>
  void put(Bytes& out, const T& value) {
    const std::size_t n = out.size();
    out.resize(n + sizeof(T));
    std::memcpy(out.data() + n, &value, sizeof(T));
  }

  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !std::strchr(",[]() \n\t\r\"", text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view trimmed_word() {
    skip();
    return word();
  }
  void need(char c) {
    skip();
    if (now() != c) fail(std::string("'") + c + "' should stand here");
    ++at_;
  }

  template <class T>
  T integer(std::string_view w) {
    T value{};
    const bool hexadecimal = w.starts_with("0x");
    if (hexadecimal) w.remove_prefix(2);
    const auto [end, error] =
        std::from_chars(w.data(), w.data() + w.size(), value, hexadecimal ? 16 : 10);
    if (error != std::errc() || end != w.data() + w.size() || w.empty())
      at_ -= w.size(), fail(shown(w) + " is no " + std::string(type_.element));
    return value;
  }

  template <class T>
  T real(std::string_view w) {
    using Bits =
        std::conditional_t<sizeof(T) == 2, std::uint16_t,
                           std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
    if (w.starts_with("0x")) return std::bit_cast<T>(integer<Bits>(w));
    double value = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
    if (end != w.data() + w.size() || w.empty() || error == std::errc::invalid_argument)
      at_ -= w.size(), fail(shown(w) + " is no " + std::string(type_.element));
    if constexpr (std::is_same_v<T, float>) {  // rounded once
      float single = 0;
      const auto one = std::from_chars(w.data(), w.data() + w.size(), single);
      return one.ec == std::errc() ? single : static_cast<float>(value);
    } else if constexpr (sizeof(T) == 2) {
      return T(static_cast<float>(value));
    } else {
      return value;
    }
  }

  void element(Bytes& out) {
    const std::string_view w = word();
    if (dtype_ == DType::boolean) {
      if (w != "true" && w != "false" && w != "0" && w != "1")
        at_ -= w.size(), fail(shown(w) + " is neither true nor false");
      out.push_back(static_cast<std::byte>(w == "true" || w == "1"));
      return;
    }
    dispatch(dtype_, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (requires { tag.real(); }) {  // a complex number: (re, im), no word
        using Part = decltype(tag.real());
        Part parts[2] = {};
        need('(');
        parts[0] = real<Part>(trimmed_word());
        need(',');
        parts[1] = real<Part>(trimmed_word());
        need(')');
        put(out, parts);
      } else if constexpr (!std::is_integral_v<T>) {
        put(out, real<T>(w));
      } else if constexpr (!std::is_same_v<T, bool>) {
        put(out, integer<T>(w));
      }
    });
  }

  const Source& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  const TypeSyntax& type_;
  DType dtype_;
};

[[noreturn]] void no_data(const ModuleSyntax& m, const AttributeSyntax& a,
                          const std::string& problem) {
  fail(*m.source, a.at, {problem});
}

// Data that came as bytes, or as digits of them; `text` is where errors point.
Data from_bytes(const ModuleSyntax& m, const AttributeSyntax& a, std::shared_ptr<Bytes> bytes,
                std::string_view text, DType dtype) {
  Data d;
  d.shape = Shape(a.value_type.dims);
  Reader(m, text, a.value_type, dtype).finish_bytes(*bytes, d);
  d.literal = {dtype, d.splat ? Shape() : d.shape, std::move(bytes)};
  return d;
}

}  // namespace

std::optional<DType> dtype_of_element(std::string_view element) {
  for (const Element& e : kElements)
    if (e.name == element) return e.dtype;
  return std::nullopt;
}

Data read_data(const ModuleSyntax& module, const AttributeSyntax& a) {
  const TypeSyntax& type = a.value_type;
  if (type.kind != TypeSyntax::tensor || !type.ranked ||
      std::any_of(type.dims.begin(), type.dims.end(), [](std::int64_t d) { return d < 0; }))
    no_data(module, a, "constant data need a tensor type of known shape");
  const std::optional<DType> dtype = dtype_of_element(type.element);
  if (!dtype) no_data(module, a, "elements of type " + shown(type.element) + " are not supported");
  if (a.kind == AttributeSyntax::dense) return Reader(module, a.data, type, *dtype).read();
  if (a.kind == AttributeSyntax::bytes) {
    const auto* begin = reinterpret_cast<const std::byte*>(a.data.data());
    return from_bytes(module, a, std::make_shared<Bytes>(begin, begin + a.data.size()), a.data,
                      *dtype);
  }
  if (a.kind != AttributeSyntax::resource) no_data(module, a, "dense<...> should stand here");
  const auto found = module.resources.find(a.text);
  if (found == module.resources.end())
    fail(*module.source, a.at,
         {"the data of " + shown(a.text) + " are not in this file",
          "dense_resource<name> stands for data at the end of the file",
          "write the module with its constants"});
  // Four bytes of alignment, then the data.
  constexpr std::size_t kHead = 10;
  const std::string_view text = found->second;
  if (text.size() < kHead || text.size() % 2 || !text.starts_with("0x"))
    no_data(module, a, "the data of " + shown(a.text) + " are damaged");
  auto bytes = std::make_shared<Bytes>();
  Reader(module, text, type, *dtype).from_digits(*bytes, text.substr(kHead), kHead);
  return from_bytes(module, a, std::move(bytes), text, *dtype);
}

namespace {

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
      return 0;  // refused by the caller
  });
}

// Lists of dimensions and padding are short; a splat's type could say anything.
constexpr std::int64_t kMostIntegers = 1 << 16;

}  // namespace

Ints read_integers(const ModuleSyntax& module, const AttributeSyntax& a) {
  if (a.kind == AttributeSyntax::integers) return a.values;
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
  const std::vector<std::int64_t>& dims = a.value_type.dims;
  if (dims.size() != 2) no_data(module, a, "a tensor of two dimensions should stand here");
  for (std::int64_t i = 0; i < dims[0]; ++i)
    out.emplace_back(all.begin() + i * dims[1], all.begin() + (i + 1) * dims[1]);
  return out;
}

}  // namespace tessera::inline v0::stablehlo
