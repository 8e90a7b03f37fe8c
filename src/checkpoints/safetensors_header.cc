#include "checkpoints/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>

namespace tessera::inline v0::safetensors {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 40;
constexpr std::size_t kMaxAxes = 64, kMaxDepth = 64, kMaxFields = 64, kShown = 60;

// Text for a message: shortened to one line without splitting a UTF-8 character.
std::string shown(std::string_view text) {
  std::string s;
  for (char c : text.substr(0, kShown)) s += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  if (text.size() <= kShown) return s;
  while (!s.empty() && (static_cast<unsigned char>(s.back()) & 0xC0) == 0x80) s.pop_back();
  if (!s.empty() && static_cast<unsigned char>(s.back()) >= 0x80) s.pop_back();
  return s + "...";
}

std::optional<DType> dtype_of(std::string_view code) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (!code.empty() && code == code_of(static_cast<DType>(i))) return static_cast<DType>(i);
  return std::nullopt;
}

// A list of numbers as read, of which only as many are stored as the format can use, and its text.
struct Numbers {
  std::vector<std::uint64_t> values;
  std::string text = "[";
  bool sound = true, there = false;
  void add(std::optional<std::uint64_t> value, std::string_view written) {
    if (values.size() <= kMaxAxes) values.push_back(value.value_or(0));
    sound = sound && value;
    if (text.size() < kShown) (text += text.size() > 1 ? "," : "") += written;
  }
  std::string str() const { return text.size() < kShown ? text + "]" : text + ",...]"; }
};

// Handles the parser's events and stops at the first error. Nesting is a counter, so deep nesting
// cannot overflow the call stack.
class Reader : public nlohmann::json_sax<Json> {
 public:
  Reader(std::uint64_t body, Header& out) : body_(body), out_(out) {}

  std::string problem;

  bool null() override { return other("null"); }
  bool boolean(bool v) override { return other(v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override { return number({}, std::to_string(v)); }
  bool number_unsigned(number_unsigned_t v) override { return number(v, std::to_string(v)); }
  bool number_float(number_float_t, const string_t& text) override { return number({}, text); }
  bool binary(binary_t&) override { return other("binary"); }

  bool string(string_t& text) override {
    if (depth_ == 2 && in_metadata_) {
      out_.metadata[field_] = text;
      return true;
    }
    if (depth_ == 2 && field_ == "dtype") {
      code_ = text;
      return true;
    }
    return other("\"" + shown(text) + "\"");
  }

  bool start_object(std::size_t) override {
    if (depth_ == 1) {
      entry_ = {};
      entry_.name = key_;
      code_.reset();
      shape_ = offsets_ = {};
      fields_.clear();
    } else if (depth_ > 1 && !may_nest()) {
      return false;
    }
    return deeper();
  }
  bool end_object() override { return --depth_ != 1 || in_metadata_ || finish(); }

  bool start_array(std::size_t) override {
    if (depth_ == 0) return wrong("its header is no JSON object");
    if (depth_ == 1) return misplaced();
    if (Numbers* list = depth_ == 2 ? numbers() : nullptr)
      list->there = true;
    else if (!may_nest())
      return false;
    return deeper();
  }
  bool end_array() override { return --depth_, true; }

  bool key(string_t& name) override {
    if (depth_ == 1) {
      key_ = name;
      in_metadata_ = name == "__metadata__";
      return names_.insert(name).second ||
             wrong(in_metadata_ ? "its metadata is there twice"
                                : "tensor '" + shown(name) + "' is there twice");
    }
    if (depth_ != 2) return true;
    field_ = name;
    if (in_metadata_ ? out_.metadata.contains(name) : !fields_.insert(name).second)
      return bad("has '" + shown(name) + "' twice");
    return fields_.size() <= kMaxFields ||
           bad("has more than " + std::to_string(kMaxFields) + " fields");
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return wrong("its header is no JSON object");
  }

  // Checks that need all entries.
  void check_places() {
    std::vector<Entry>& all = out_.tensors;
    std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::uint64_t at = 0;
    const Entry* last = nullptr;
    for (const Entry& e : all) {
      if (e.begin == e.end) continue;
      if (e.begin < at)
        return void(
            wrong("tensors '" + shown(last->name) + "' and '" + shown(e.name) + "' overlap"));
      if (e.begin > at)
        return void(wrong(std::to_string(e.begin - at) + " bytes before tensor '" + shown(e.name) +
                          "' belong to no tensor"));
      at = e.end;
      last = &e;
    }
    if (at != body_) wrong(std::to_string(body_ - at) + " bytes belong to no tensor");
  }

 private:
  bool wrong(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }
  std::string of_entry() const {
    return in_metadata_ ? "its metadata " : "tensor '" + shown(key_) + "' ";
  }
  bool bad(const std::string& why) { return wrong(of_entry() + why); }
  bool misplaced() {
    return bad(in_metadata_ ? "is no object of strings" : "lacks dtype, shape or data_offsets");
  }

  bool deeper() {
    return ++depth_ <= kMaxDepth ||
           wrong("its header is nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  Numbers* numbers() {
    if (in_metadata_) return nullptr;
    return field_ == "shape" ? &shape_ : field_ == "data_offsets" ? &offsets_ : nullptr;
  }
  // Unknown fields of an entry are ignored.
  bool is_known() const {
    return in_metadata_ || field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
  }
  bool may_nest() { return !is_known() || misplaced(); }

  bool number(std::optional<std::uint64_t> value, std::string_view text) {
    Numbers* list = depth_ == 3 ? numbers() : nullptr;
    if (!list) return other(text);
    list->add(value, shown(text));
    return true;
  }
  bool other(std::string_view text) {
    if (depth_ == 0) return wrong("its header is no JSON object");
    if (depth_ == 1) return misplaced();
    if (Numbers* list = depth_ == 3 ? numbers() : nullptr) {
      list->add({}, text);
      return true;
    }
    return !is_known() || misplaced();
  }

  bool finish() {
    if (!code_ || !shape_.there || !offsets_.there || offsets_.values.size() != 2)
      return misplaced();
    const std::optional<DType> dtype = dtype_of(*code_);
    if (!dtype) return bad("has the unknown dtype \"" + shown(*code_) + "\"");
    entry_.dtype = *dtype;
    std::uint64_t count = 1;
    if (shape_.values.size() > kMaxAxes)
      return bad("has more than " + std::to_string(kMaxAxes) + " axes");
    for (std::uint64_t extent : shape_.values) {
      if (extent > kMaxElements || (extent && count > kMaxElements / extent)) shape_.sound = false;
      if (!shape_.sound) break;
      count *= extent;
      entry_.shape.push_back(static_cast<std::int64_t>(extent));
    }
    if (!shape_.sound) return bad("has the shape " + shape_.str());
    if (!offsets_.sound) return bad("has the range " + offsets_.str());
    const std::uint64_t begin = entry_.begin = offsets_.values[0],
                        end = entry_.end = offsets_.values[1];
    if (begin > end || end > body_)
      return bad("lies at " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
                 std::to_string(body_) + " bytes");
    const std::uint64_t needs = count * static_cast<std::uint64_t>(size_of(entry_.dtype));
    if (end - begin != needs)
      return bad("has " + std::to_string(end - begin) + " bytes, but its shape " +
                 to_string(entry_.shape) + " needs " + std::to_string(needs));
    out_.tensors.push_back(std::move(entry_));
    return true;
  }

  std::uint64_t body_;
  Header& out_;
  std::size_t depth_ = 0;
  std::set<std::string> names_, fields_;
  std::string key_, field_;
  bool in_metadata_ = false;
  Entry entry_;
  std::optional<std::string> code_;
  Numbers shape_, offsets_;
};

}  // namespace

const char* code_of(DType d) {
  switch (d) {
    case DType::boolean: return "BOOL";
    case DType::int8: return "I8";
    case DType::int16: return "I16";
    case DType::int32: return "I32";
    case DType::int64: return "I64";
    case DType::uint8: return "U8";
    case DType::uint16: return "U16";
    case DType::uint32: return "U32";
    case DType::uint64: return "U64";
    case DType::float16: return "F16";
    case DType::bfloat16: return "BF16";
    case DType::float32: return "F32";
    case DType::float64: return "F64";
    case DType::complex64: return "C64";
    case DType::complex128: break;
  }
  return "";
}

std::string parse_header(std::string_view text, std::uint64_t body, Header& out) {
  Reader reader(body, out);
  if (Json::sax_parse(text.begin(), text.end(), &reader)) reader.check_places();
  return reader.problem;
}

}  // namespace tessera::inline v0::safetensors
