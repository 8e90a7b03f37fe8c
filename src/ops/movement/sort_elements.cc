#include "ops/movement/sort_elements.h"

#include "ops/order.h"

#include <algorithm>
#include <complex>
#include <cstring>

namespace tessera::inline v0::ops {

namespace {

constexpr std::int64_t kBlock = 256;  // elements whose keys are made at a time

std::vector<KeyPart> parts_of(std::span<const Type> in, std::size_t keys) {
  std::vector<KeyPart> parts;
  for (std::size_t k = 0; k < keys; ++k) {
    const DType dtype = in[k].dtype;
    const int bits = 8 * static_cast<int>(size_of(dtype));
    if (!is_complex(dtype)) {
      parts.push_back({k, dtype, 0, 1, bits});
      continue;
    }
    const DType part = bits == 64 ? DType::float32 : DType::float64;
    for (std::int64_t which : {0, 1}) parts.push_back({k, part, which, 2, bits / 2});
  }
  return parts;
}

template <class Key>
struct Block {
  Key keys[kBlock];
  int bits = 0;  // of the parts that the keys have so far
};

template <class T, class Key>
void add_part(const T* x, std::int64_t step, std::int64_t count, bool single, Block<Key>& block,
              SeenKeys<Key>& seen) {
  using O = Ordered<T>;
  if constexpr (sizeof(T) <= sizeof(Key)) {
    if (block.bits == 0 && step == 1) {
      for (std::int64_t i = 0; i < count; ++i) block.keys[i] = O::of(x[i]);
    } else if (block.bits == 0) {
      for (std::int64_t i = 0; i < count; ++i) block.keys[i] = O::of(x[i * step]);
    } else if constexpr (sizeof(T) < sizeof(Key)) {
      for (std::int64_t i = 0; i < count; ++i)
        block.keys[i] = static_cast<Key>(block.keys[i] << O::kBits | O::of(x[i * step]));
    }
    if constexpr (O::is_float) {
      unsigned inexact = 0;
      if (single && step == 1)
        for (std::int64_t i = 0; i < count; ++i) inexact |= !O::exact(x[i]);
      else if (single)
        for (std::int64_t i = 0; i < count; ++i) inexact |= !O::exact(x[i * step]);
      seen.inexact = seen.inexact || inexact;
    }
  }
  block.bits += O::kBits;
}

template <class F>
void read_key_block(const SortPlan& p, std::size_t group, const void* const* row,
                    std::int64_t begin, std::int64_t count, Block<typename F::Key>& block,
                    SeenKeys<typename F::Key>& seen) {
  const bool single = p.groups[group].size() == 1 && p.tag != SortPlan::Tag::position;
  for (const KeyPart& part : p.groups[group])
    dispatch_real(part.dtype, [&](auto tag) {
      using T = decltype(tag);
      const std::int64_t step = part.step * p.inner;
      add_part(static_cast<const T*>(row[part.operand]) + part.first + begin * step, step, count,
               single, block, seen);
    });
  typename F::Key any = 0, all = std::numeric_limits<typename F::Key>::max();
  for (std::int64_t i = 0; i < count; ++i) {
    any |= block.keys[i];
    all &= block.keys[i];
  }
  seen.any |= any;
  seen.all &= all;
}

// Calls f with a number of `size` bytes.
template <class F>
void with_size(std::int64_t size, F&& f) {
  switch (size) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(std::complex<double>{});
  }
}

template <class Tag>
void add_values(const SortPlan& p, const void* const* row, std::int64_t begin, std::int64_t count,
                Tag* tags) {
  std::fill_n(tags, count, Tag{0});
  for (std::size_t k = p.keys; k < p.dtypes.size(); ++k)
    with_size(size_of(p.dtypes[k]), [&](auto number) {
      using U = decltype(number);
      if constexpr (std::is_integral_v<U> && sizeof(U) <= sizeof(Tag)) {
        const U* x = static_cast<const U*>(row[k]) + begin * p.inner;
        for (std::int64_t i = 0; i < count; ++i) {
          Tag before = 0;  // all bits if this is the only value
          if constexpr (sizeof(U) < sizeof(Tag))
            before = static_cast<Tag>(tags[i] << 8 * sizeof(U));
          tags[i] = before | x[i * p.inner];
        }
      }
    });
}

// Writes the operands from keys and tags, `inner` elements apart.
template <class F>
void write_values(const SortPlan& p, const typename F::Element* from, std::int64_t begin,
                  std::int64_t end, std::int64_t inner, void* const* out) {
  int shift = p.key_bits;
  for (const KeyPart& part : p.groups[0]) {
    shift -= part.bits;
    dispatch_real(part.dtype, [&](auto tag) {
      using T = decltype(tag);
      using O = Ordered<T>;
      if constexpr (sizeof(T) <= sizeof(typename F::Key)) {
        T* to = static_cast<T*>(out[part.operand]);
        if (inner == 1)
          for (std::int64_t i = begin; i < end; ++i)
            to[i] = O::back(static_cast<typename O::Bits>(F::key(from[i]) >> shift));
        else
          for (std::int64_t i = begin; i < end; ++i)
            to[i * inner] = O::back(static_cast<typename O::Bits>(F::key(from[i]) >> shift));
      }
    });
  }
  shift = 0;
  for (std::size_t k = p.dtypes.size(); k-- > p.keys;) {
    with_size(size_of(p.dtypes[k]), [&](auto number) {
      using U = decltype(number);
      if constexpr (std::is_integral_v<U> && sizeof(U) <= sizeof(typename F::Tag)) {
        U* to = static_cast<U*>(out[k]);
        for (std::int64_t i = begin; i < end; ++i)
          to[i * inner] = static_cast<U>(F::tag(from[i]) >> shift);
      }
    });
    shift += 8 * static_cast<int>(size_of(p.dtypes[k]));
  }
}

}  // namespace

SortPlan sort_plan(std::span<const Type> in, std::int64_t dimension, std::size_t keys,
                   const SortedRange& wanted, bool moved_in_order) {
  SortPlan p;
  const Shape& shape = in[0].shape;
  p.n = shape[static_cast<std::size_t>(dimension)];
  for (std::int64_t d = dimension + 1; d < shape.rank(); ++d)
    p.inner *= shape[static_cast<std::size_t>(d)];
  p.wanted = wanted;
  p.keys = keys;
  std::int64_t value_bits = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    p.dtypes.push_back(in[k].dtype);
    if (k >= keys) value_bits += 8 * size_of(in[k].dtype);
  }
  constexpr int kMost = 64;
  const std::vector<KeyPart> parts = parts_of(in, keys);
  int bits = kMost;
  bool floats = false;
  for (const KeyPart& part : parts) {
    if (bits + part.bits > kMost) {
      p.groups.emplace_back();
      bits = 0;
    }
    p.groups.back().push_back(part);
    bits += part.bits;
    p.key_bits = std::max(p.key_bits, bits);
    floats = floats || is_inexact(part.dtype);
  }
  // Whether the operands that are compared follow from the keys.
  const bool from_keys = p.groups.size() == 1 && (parts.size() == 1 || !floats);
  if (!from_keys) return p;
  if (value_bits == 0)
    p.tag = SortPlan::Tag::none;
  else if (moved_in_order && !p.few() && value_bits <= (p.key_bits > 32 ? 64 : 32))
    p.tag = SortPlan::Tag::values;
  return p;
}

template <class F>
SeenKeys<typename F::Key> read_elements(const SortPlan& p, const void* const* row,
                                        std::int64_t begin, std::int64_t end,
                                        typename F::Element* to) {
  using Tag = typename F::Tag;
  SeenKeys<typename F::Key> seen;
  [[maybe_unused]] Tag tags[kBlock];
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t count = std::min(kBlock, end - at);
    Block<typename F::Key> block;
    read_key_block<F>(p, p.groups.size() - 1, row, at, count, block, seen);
    if constexpr (F::has_tag) {
      if (p.tag == SortPlan::Tag::values)
        add_values(p, row, at, count, tags);
      else
        for (std::int64_t i = 0; i < count; ++i) tags[i] = static_cast<Tag>(at + i);
    }
    for (std::int64_t i = 0; i < count; ++i)
      to[at - begin + i] = F::make(block.keys[i], F::has_tag ? tags[i] : Tag{0});
  }
  return seen;
}

template <class F>
SeenKeys<typename F::Key> read_keys(const SortPlan& p, std::size_t group, const void* const* row,
                                    const std::uint32_t* order, typename F::Element* elements) {
  SeenKeys<typename F::Key> seen;
  for (std::int64_t i = 0; i < p.n; ++i) {
    Block<typename F::Key> block;
    read_key_block<F>(p, group, row, order[i], 1, block, seen);
    elements[i] = F::make(block.keys[0], static_cast<typename F::Tag>(i));
  }
  return seen;
}

template <class F>
void write_elements(const SortPlan& p, const void* const* row, const typename F::Element* wanted,
                    std::int64_t begin, std::int64_t end, void* const* out) {
  if (p.tag != SortPlan::Tag::position) return write_values<F>(p, wanted, begin, end, p.inner, out);
  for (std::size_t k = 0; k < p.dtypes.size(); ++k)
    with_size(size_of(p.dtypes[k]), [&](auto number) {
      using U = decltype(number);
      const U* from = static_cast<const U*>(row[k]);
      U* to = static_cast<U*>(out[k]);
      for (std::int64_t i = begin; i < end; ++i)
        to[i * p.inner] = from[static_cast<std::int64_t>(F::tag(wanted[i])) * p.inner];
    });
}

template <class F>
void write_across(const SortPlan& p, const void* const* row, const typename F::Element* elements,
                  std::int64_t count, void* const* out) {
  if (p.tag != SortPlan::Tag::position) return write_values<F>(p, elements, 0, count, 1, out);
  for (std::size_t k = 0; k < p.dtypes.size(); ++k)
    with_size(size_of(p.dtypes[k]), [&](auto number) {
      using U = decltype(number);
      const U* from = static_cast<const U*>(row[k]);
      U* to = static_cast<U*>(out[k]);
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = from[static_cast<std::int64_t>(F::tag(elements[i])) * p.inner + i];
    });
}

void restore_equal(const SortPlan& p, const void* const* row, void* const* out) {
  dispatch_real(p.groups[0][0].dtype, [&](auto tag) {
    using T = decltype(tag);
    using O = Ordered<T>;
    if constexpr (O::is_float) {
      const T* x = static_cast<const T*>(row[0]);
      T* to = static_cast<T*>(out[0]);
      std::int64_t zero_at = 0, nan_at = 0;  // before which the sort places other elements
      for (std::int64_t i = 0; i < p.n; ++i) {
        const auto key = O::of(x[i * p.inner]);
        zero_at += key < O::kSign;
        nan_at += key != O::kLast;
      }
      const auto put = [&](std::int64_t at, T value) {
        at -= p.wanted.first;
        if (at >= 0 && at < p.wanted.count) to[at * p.inner] = value;
      };
      for (std::int64_t i = 0; i < p.n; ++i) {
        const T value = x[i * p.inner];
        const auto key = O::of(value);
        if (key == O::kSign) put(zero_at++, value);
        if (key == O::kLast) put(nan_at++, value);
      }
    }
  });
}

#define INSTANTIATE(F)                                                                          \
  template SeenKeys<F::Key> read_elements<F>(const SortPlan&, const void* const*, std::int64_t, \
                                             std::int64_t, F::Element*);                        \
  template SeenKeys<F::Key> read_keys<F>(const SortPlan&, std::size_t, const void* const*,      \
                                         const std::uint32_t*, F::Element*);                    \
  template void write_elements<F>(const SortPlan&, const void* const*, const F::Element*,       \
                                  std::int64_t, std::int64_t, void* const*);                    \
  template void write_across<F>(const SortPlan&, const void* const*, const F::Element*,         \
                                std::int64_t, void* const*);
INSTANTIATE(KeysAlone<std::uint32_t>)
INSTANTIATE(KeysAlone<std::uint64_t>)
INSTANTIATE(TaggedKeys32)
INSTANTIATE(TaggedKeys64)
#undef INSTANTIATE

}  // namespace tessera::inline v0::ops
