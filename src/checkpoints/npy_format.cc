#include "checkpoints/npy_format.h"

#include <tessera/detail/input_file.h>
#include <tessera/message.h>

#include <charconv>
#include <complex>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

namespace tessera::inline v0::npy_format {

namespace {

// A file begins with "\x93NUMPY" and two bytes of version; then follows the header's length in two
// bytes, or in four from version 2.
constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kAlignment = 64, kMostHeader = 1 << 20, kMostDims = 64;

struct Row {
  DType dtype;
  std::string_view text;  // in the header
};
constexpr Row kRows[] = {
    {DType::boolean, "|b1"}, {DType::int8, "|i1"},      {DType::int16, "<i2"},
    {DType::int32, "<i4"},   {DType::int64, "<i8"},     {DType::uint8, "|u1"},
    {DType::uint16, "<u2"},  {DType::uint32, "<u4"},    {DType::uint64, "<u8"},
    {DType::float16, "<f2"}, {DType::bfloat16, "<V2"},  {DType::float32, "<f4"},
    {DType::float64, "<f8"}, {DType::complex64, "<c8"}, {DType::complex128, "<c16"},
};

struct Header {
  std::string descr;
  bool column_major = false;
  Shape shape;
};

// Parses a Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  /// Returns a description of the first error, or an empty string.
  std::string read(Header& h) {
    bool descr = false, order = false, shape = false;
    if (!take('{')) return "its header is no dictionary";
    while (!take('}')) {
      const std::optional<std::string> key = string();
      if (!key || !take(':')) return "its header is no dictionary";
      if (*key == "descr") {
        const std::optional<std::string> value = string();
        if (!value) return "its elements are records, and only numbers are read";
        h.descr = *value;
        descr = true;
      } else if (*key == "fortran_order") {
        h.column_major = word("True");
        if (!h.column_major && !word("False")) return "fortran_order is neither True nor False";
        order = true;
      } else if (*key == "shape") {
        const std::string problem = extents(h.shape);
        if (!problem.empty()) return problem;
        shape = true;
      } else {
        return "its header has the unknown key '" + *key + "'";
      }
      if (!take(',') && !peek('}')) return "its header is no dictionary";
    }
    return descr && order && shape ? "" : "its header lacks descr, fortran_order or shape";
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool peek(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) { return peek(c) && ++at_; }
  bool word(std::string_view w) {
    skip();
    if (!text_.substr(at_).starts_with(w)) return false;
    at_ += w.size();
    return true;
  }
  std::optional<std::string> string() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : 0;
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) return std::nullopt;
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  std::string extents(Shape& shape) {
    if (!take('(')) return "its shape is no tuple";
    while (!take(')')) {
      skip();
      std::int64_t n = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
      if (error != std::errc() || n < 0) return "its shape has an extent that is none";
      at_ = static_cast<std::size_t>(end - text_.data());
      shape.push_back(n);
      if (shape.size() > kMostDims) return "it has more than 64 axes";
      if (!take(',') && !peek(')')) return "its shape is no tuple";
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Bytes of an array of this shape; absent if no machine could hold them.
std::optional<std::uint64_t> bytes_of(const Shape& shape, DType dtype) {
  std::uint64_t n = static_cast<std::uint64_t>(size_of(dtype));
  for (std::int64_t d : shape)
    if (__builtin_mul_overflow(n, static_cast<std::uint64_t>(d), &n) || n > std::uint64_t{1} << 62)
      return std::nullopt;
  return n;
}

}  // namespace

Complaint::Complaint(const char* function, const std::string& path, const SourceLoc& line)
    : function_(function), what_(detail::shown_path(path)), line_(line) {}

Complaint Complaint::about(const std::string& member) const {
  Complaint inside = *this;
  inside.what_ += ": '" + detail::shown_path(member) + "' in it";
  return inside;
}

void Complaint::fail(const std::string& problem, const std::string& advice) const {
  Message(function_).problem(what_ + ": " + problem).from(line_).advice(advice).raise<IoError>();
}

std::string npy_front(const Array& x, const Complaint& complaint, std::source_location loc) {
  std::string_view descr;
  for (const Row& row : kRows)
    if (row.dtype == x.dtype(loc)) descr = row.text;
  if (descr.empty())
    complaint.fail("there is no NumPy dtype for " + to_string(x.dtype()),
                   "convert the array first");
  std::string extents;
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    extents += (i ? ", " : "") + std::to_string(x.shape()[i]) + (x.shape().size() == 1 ? "," : "");
  std::string header = "{'descr': '" + std::string(descr) +
                       "', 'fortran_order': False, 'shape': (" + extents + "), }";
  constexpr std::size_t kFront = 10;
  while ((kFront + header.size() + 1) % kAlignment) header += ' ';
  header += '\n';
  std::string front(kMagic);
  front +=
      {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return front + header;
}

std::string_view npy_elements(const Array& x, std::source_location loc) {
  return dispatch(x.dtype(), [&](auto tag) {
    const auto values = x.host<decltype(tag)>(loc);
    return std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  });
}

ByteSource source_of(std::span<const std::byte> bytes) {
  return {bytes.size(), [bytes](void* to, std::size_t n) mutable {
            if (n > bytes.size()) return false;
            if (n > 0) std::memcpy(to, bytes.data(), n);
            bytes = bytes.subspan(n);
            return true;
          }};
}

Array read_npy(const ByteSource& in, const Complaint& complaint) {
  const std::string again = "write it again with numpy.save";
  char front[12] = {};
  std::size_t front_size = 10;
  if (in.size < front_size || !in.read(front, front_size) ||
      std::string_view(front, kMagic.size()) != kMagic)
    complaint.fail("it is no .npy file", std::string_view(front, 4) == "PK\3\4"
                                             ? "load_npz reads files of several arrays"
                                             : "check the path");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(front[i]));
  };
  std::uint64_t length = byte(8) | byte(9) << 8;
  if (byte(6) > 3 || byte(6) == 0)
    complaint.fail("it is of version " + std::to_string(byte(6)) + ", and versions 1 to 3 are read",
                   again);
  if (byte(6) > 1) {
    if (!in.read(front + front_size, 2)) complaint.fail("it ends in its header", again);
    front_size += 2;
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (length > kMostHeader || length > in.size - front_size)
    complaint.fail("its header of " + std::to_string(length) + " bytes does not end in the file",
                   again);
  std::string text(static_cast<std::size_t>(length), '\0');
  if (!in.read(text.data(), text.size())) complaint.fail("it ends in its header", again);
  Header h;
  if (const std::string problem = HeaderReader(text).read(h); !problem.empty())
    complaint.fail(problem, again);
  std::optional<DType> dtype;
  for (const Row& row : kRows)
    if (h.descr == row.text || (h.descr == "|V2" && row.dtype == DType::bfloat16))
      dtype = row.dtype;
  if (!dtype)
    complaint.fail(
        "its dtype is " + detail::shown_path(h.descr),
        "convert it with astype to little-endian numbers of a supported dtype, and save it again");
  const std::optional<std::uint64_t> bytes = bytes_of(h.shape, *dtype);
  const std::uint64_t left = in.size - front_size - length;
  if (!bytes || *bytes != left)
    complaint.fail("it holds " + std::to_string(left) + " bytes of elements, and shape " +
                       to_string(h.shape) + " of " + to_string(*dtype) + " takes " +
                       (bytes ? std::to_string(*bytes) : "more than 2^62"),
                   again);
  if (left > detail::machine_memory())
    complaint.fail("its elements take " + std::to_string(left) + " bytes, but this machine has " +
                       std::to_string(detail::machine_memory()) + " of memory",
                   "load it on a larger machine, or split the array");
  std::vector<char> data;
  try {
    data.resize(static_cast<std::size_t>(left));
  } catch (const std::bad_alloc&) {
    complaint.fail("there is no memory for the " + std::to_string(left) + " bytes of its elements",
                   "let go of arrays, or load it on a larger machine");
  }
  if (!in.read(data.data(), data.size()))
    complaint.fail("it cannot be read to its end",
                   "check whether something writes it, and its disk");
  if (*dtype == DType::boolean)
    for (char& c : data) c = c != 0;
  if (!h.column_major) return Array::from_bytes(*dtype, h.shape, data.data());
  Shape reversed;
  for (std::size_t i = h.shape.size(); i-- > 0;) reversed.push_back(h.shape[i]);
  return Array::from_bytes(*dtype, reversed, data.data()).transpose();
}

}  // namespace tessera::inline v0::npy_format
