#include "stablehlo/import/elements.h"

#include "stablehlo/import/narrow.h"
#include "stablehlo/text/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace tessera::inline v0::stablehlo {

namespace {

using Bytes = std::vector<std::byte>;

// Reads the text of the elements one after the other.
class ElementReader {
 public:
  ElementReader(const ModuleSyntax& module, std::string_view text, const TypeData& type,
                DType dtype)
      : source_(*module.source),
        text_(text),
        type_(type),
        dtype_(dtype),
        narrow_(narrow_of(type.element)) {}

  // Reads only digits, from position `from` of the text.
  Data read_digits(std::size_t from) {
    Bytes bytes;
    from_digits(bytes, text_.substr(from), from);
    return from_bytes(std::move(bytes));
  }

  Data read_stored() {
    const auto* begin = reinterpret_cast<const std::byte*>(text_.data());
    return from_bytes(Bytes(begin, begin + text_.size()));
  }

  Data from_bytes(Bytes held) {
    Data d;
    d.shape = Shape(type_.dims.begin(), type_.dims.end());
    auto bytes = std::make_shared<Bytes>(std::move(held));
    finish_bytes(*bytes, d);
    d.literal = {dtype_, d.splat ? Shape() : d.shape, std::move(bytes)};
    return d;
  }

  Data read() {
    Data d;
    d.shape = Shape(type_.dims.begin(), type_.dims.end());
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

  // Brackets nest as deep as the rank, and contain as many items as the extents say.
  void nested(Bytes& out) {
    const std::size_t rank = type_.dims.size();
    std::vector<std::int64_t> seen;  // by open bracket
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

  void from_digits(Bytes& out, std::string_view digits, std::size_t from) {
    out.resize(digits.size() / 2);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int high = hex_value(digits[2 * i]), low = hex_value(digits[2 * i + 1]);
      if (high < 0 || low < 0) at_ = from + 2 * i, fail("this is no hexadecimal digit");
      out[i] = static_cast<std::byte>(high * 16 + low);
    }
  }

  // The bytes of one element stand for all elements; booleans may be packed as bits. One byte for
  // two to eight booleans is therefore ambiguous: like MLIR, this reads 0 and 255 as a splat, and
  // other bytes as bits.
  void finish_bytes(Bytes& out, Data& d) {
    const std::int64_t count = d.shape.count();
    const auto size = static_cast<std::size_t>(size_of(dtype_));
    const auto n = static_cast<std::uint64_t>(count);
    const bool packed_byte = dtype_ == DType::boolean && out.size() == 1 && n > 1 && n <= 8 &&
                             out[0] != std::byte{0} && out[0] != std::byte{255};
    if (out.size() == size && count != 1 && !packed_byte) {
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
    if (narrow_ && is_integer(narrow_->carrier))
      for (std::byte& b : out) b = wrapped(std::to_integer<int>(b));
  }

  // The lowest bits of a narrow integer, sign-extended to its carrier.
  std::byte wrapped(int value) const {
    const int range = 1 << narrow_->bits, low = value & (range - 1);
    const bool negative = is_signed_integer(narrow_->carrier) && low >= range / 2;
    return static_cast<std::byte>(negative ? low - range : low);
  }

  // A narrow element: the number of an integer, or the bits of a float.
  std::byte narrow_element(std::string_view w) {
    const int range = 1 << narrow_->bits;
    const auto refuse = [&] {
      at_ -= w.size();
      fail(shown(w) + " is no " + std::string(type_.element));
    };
    if (is_integer(narrow_->carrier) || w.starts_with("0x")) {
      const int value = integer<int>(w);
      const bool negative = value < 0 && is_signed_integer(narrow_->carrier);
      if (value >= range || (value < 0 && !negative) || value < -range / 2) refuse();
      return is_integer(narrow_->carrier) ? wrapped(value) : static_cast<std::byte>(value);
    }
    if (numbers_.empty())
      for (int bits = 0; bits < range; ++bits)
        numbers_.push_back(number_of_bits(static_cast<std::uint8_t>(bits), *narrow_));
    const double x = narrowed(real<double>(w), *narrow_);
    for (int bits = 0; bits < range; ++bits) {
      const double y = numbers_[static_cast<std::size_t>(bits)];
      if ((x == y && std::signbit(x) == std::signbit(y)) || (std::isnan(x) && std::isnan(y)))
        return static_cast<std::byte>(bits);
    }
    refuse();
    return {};
  }

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

  // Signless integers are bits: a number too large for the signed type may be an unsigned one.
  template <class T>
  T integer(std::string_view w) {
    T value{};
    const bool hexadecimal = w.starts_with("0x");
    if (hexadecimal) w.remove_prefix(2);
    const auto read = [&](auto& into) {
      return std::from_chars(w.data(), w.data() + w.size(), into, hexadecimal ? 16 : 10);
    };
    auto [end, error] = read(value);
    if (std::is_signed_v<T> && error == std::errc::result_out_of_range) {
      std::make_unsigned_t<T> bits{};
      const auto [end_of_bits, error_of_bits] = read(bits);
      end = end_of_bits, error = error_of_bits;
      value = static_cast<T>(bits);
    }
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
    if constexpr (std::is_same_v<T, float>) {  // parsed as float, to round once
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
    if (narrow_) {
      out.push_back(narrow_element(w));
      return;
    }
    dispatch(dtype_, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (requires { tag.real(); }) {  // a complex number: (re, im), which is not a word
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
  const TypeData& type_;
  DType dtype_;
  const Narrow* narrow_;
  std::vector<double> numbers_;  // values of a narrow float, by their bits
};

}  // namespace

Data read_elements(const ModuleSyntax& module, std::string_view text, const TypeData& type,
                   DType dtype) {
  return ElementReader(module, text, type, dtype).read();
}
Data read_hexadecimal(const ModuleSyntax& module, std::string_view text, std::size_t from,
                      const TypeData& type, DType dtype) {
  return ElementReader(module, text, type, dtype).read_digits(from);
}
Data read_stored(const ModuleSyntax& module, std::string_view bytes, const TypeData& type,
                 DType dtype) {
  return ElementReader(module, bytes, type, dtype).read_stored();
}

}  // namespace tessera::inline v0::stablehlo
