#include "ir/attrs.h"

#include "base/hash.h"
#include "ir/attr_hash.h"
#include "ir/program.h"

#include <complex>
#include <cstring>
#include <functional>
#include <string_view>

namespace tessera::inline v0 {

AttrValue::AttrValue() = default;
AttrValue::AttrValue(const AttrValue& other) = default;
AttrValue::AttrValue(AttrValue&& other) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue& other) = default;
AttrValue& AttrValue::operator=(AttrValue&& other) noexcept = default;
AttrValue::~AttrValue() = default;
AttrValue::AttrValue(Made, bool value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, std::int64_t value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, double value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, DType value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, std::string_view value) : AttrVariant(std::string(value)) {}
AttrValue::AttrValue(Made, const std::string& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, std::string&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const Ints& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, Ints&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const IntLists& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, IntLists&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const Strings& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, Strings&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const Literal& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, Literal&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const ProgramPtr& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, ProgramPtr&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const Programs& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, Programs&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const HookPtr& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, HookPtr&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const Spec& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, Spec&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const Specs& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, Specs&& value) : AttrVariant(std::move(value)) {}
AttrValue::AttrValue(Made, const MeshRef& value) : AttrVariant(value) {}
AttrValue::AttrValue(Made, MeshRef&& value) : AttrVariant(std::move(value)) {}

Attrs::Attrs() = default;
Attrs::Attrs(std::initializer_list<Given> entries) {
  entries_.reserve(entries.size());
  for (const Given& e : entries) entries_.emplace_back(std::string(e.name), e.value);
}
Attrs::Attrs(const Attrs& other) = default;
Attrs::Attrs(Attrs&& other) noexcept = default;
Attrs& Attrs::operator=(const Attrs& other) = default;
Attrs& Attrs::operator=(Attrs&& other) noexcept = default;
Attrs::~Attrs() = default;

bool Literal::operator==(const Literal& o) const {
  return dtype == o.dtype && shape == o.shape && (bytes == o.bytes || *bytes == *o.bytes);
}

namespace {
template <class N>
Literal make_scalar(DType dtype, N value) {
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size_of(dtype)));
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    T v;
    if constexpr (is_complex_v<T>) {
      using Part = typename T::value_type;
      if constexpr (is_complex_v<N>)
        v = {static_cast<Part>(value.real()), static_cast<Part>(value.imag())};
      else
        v = static_cast<Part>(value);
    } else if constexpr (is_complex_v<N>) {
      throw InternalError("a complex number as a literal of a real dtype");
    } else if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>) {
      v = T(static_cast<float>(value));
    } else {
      v = static_cast<T>(value);
    }
    std::memcpy(bytes->data(), &v, sizeof v);
  });
  return {dtype, Shape{}, std::move(bytes)};
}
}  // namespace

Literal scalar_literal(DType dtype, double value) { return make_scalar(dtype, value); }
Literal scalar_literal(DType dtype, std::int64_t value) { return make_scalar(dtype, value); }
Literal scalar_literal(DType dtype, std::complex<double> value) {
  return make_scalar(dtype, value);
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& [n, v] : entries_)
    if (n == name) return &v;
  return nullptr;
}

void Attrs::set(std::string_view name, AttrValue value) {
  for (auto& [n, v] : entries_)
    if (n == name) {
      v = std::move(value);
      return;
    }
  entries_.emplace_back(std::string(name), std::move(value));
}

void Attrs::missing(std::string_view name) {
  throw InternalError("attribute '" + std::string(name) + "' is absent or of another kind");
}

bool Attrs::operator==(const Attrs& o) const {
  if (entries_.size() != o.entries_.size()) return false;
  auto same = [](const ProgramPtr& a, const ProgramPtr& b) {
    return a == b || (a && b && same_structure(*a, *b));
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto& [n, v] = entries_[i];
    const auto& [on, ov] = o.entries_[i];
    if (n != on || v.index() != ov.index()) return false;
    if (auto* p = std::get_if<ProgramPtr>(&v)) {
      if (!same(*p, std::get<ProgramPtr>(ov))) return false;
    } else if (auto* ps = std::get_if<Programs>(&v)) {
      const auto& qs = std::get<Programs>(ov);
      if (ps->size() != qs.size()) return false;
      for (std::size_t k = 0; k < qs.size(); ++k)
        if (!same((*ps)[k], qs[k])) return false;
    } else if (static_cast<const AttrVariant&>(v) != static_cast<const AttrVariant&>(ov)) {
      return false;
    }
  }
  return true;
}

std::size_t hash_of(const AttrValue& value) {
  std::size_t h = value.index();
  if (const auto* i = std::get_if<std::int64_t>(&value)) mix(h, static_cast<std::size_t>(*i));
  if (const auto* b = std::get_if<bool>(&value)) mix(h, *b);
  if (const auto* d = std::get_if<DType>(&value)) mix(h, static_cast<std::size_t>(*d));
  if (const auto* s = std::get_if<std::string>(&value)) mix(h, std::hash<std::string>()(*s));
  if (const auto* v = std::get_if<Ints>(&value))
    for (std::int64_t i : *v) mix(h, static_cast<std::size_t>(i));
  if (const auto* l = std::get_if<Literal>(&value)) {
    mix(h, static_cast<std::size_t>(l->dtype));
    mix(h, std::hash<std::string_view>()(
               {reinterpret_cast<const char*>(l->bytes->data()), l->bytes->size()}));
  }
  if (const auto* s = std::get_if<Spec>(&value)) mix(h, s->hash());
  if (const auto* p = std::get_if<ProgramPtr>(&value))
    if (*p) mix(h, (*p)->equations.size());
  return h;
}

}  // namespace tessera::inline v0
