// Factor rules as data, and the shards along a factor.
#pragma once

#include "ops/registry_values.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace walk {

struct Rule {
  using Dims = std::vector<std::vector<std::string>>;  // factors of each dimension, major first
  std::vector<Dims> inputs, outputs;
  std::map<std::string, std::int64_t> sizes;
  std::map<std::string, std::string> reductions;  // factor to combiner
  std::map<std::string, std::string> kinds;       // factor to its other kind; the last one named
  std::map<std::string, std::string> combiners;   // combiners of those kinds
};

inline std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> parts(1);
  for (char c : s) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return s.empty() ? std::vector<std::string>{} : parts;
}
// A factor is a letter and digits.
inline std::vector<std::string> factors(const std::string& dim) {
  std::vector<std::string> f;
  for (char c : dim) {
    if (std::isalpha(static_cast<unsigned char>(c)))
      f.emplace_back(1, c);
    else
      f.back() += c;
  }
  return f;
}
inline std::vector<Rule::Dims> tensors(const std::string& list) {
  std::vector<Rule::Dims> all;
  for (std::size_t at = 0; (at = list.find('[', at)) != std::string::npos;) {
    std::size_t end = list.find(']', at);
    all.emplace_back();
    for (const std::string& dim : split(list.substr(at + 1, end - at - 1)))
      all.back().push_back(factors(dim));
    at = end;
  }
  return all;
}
// "([a,bc],[])->([ab,c]) {a=2,b=2,c=6} reduction={b:+} need_repl={c}"
inline Rule parse(const std::string& text) {
  Rule r;
  std::size_t arrow = text.find("->"), end = text.find(')', arrow);
  r.inputs = tensors(text.substr(0, arrow));
  r.outputs = tensors(text.substr(arrow, end - arrow));
  for (std::size_t at = end; (at = text.find('{', at)) != std::string::npos; ++at) {
    std::string kind = text[at - 1] == '='
                           ? text.substr(text.rfind(' ', at) + 1, at - 2 - text.rfind(' ', at))
                           : "";
    for (const std::string& entry : split(text.substr(at + 1, text.find('}', at) - at - 1))) {
      if (kind.empty())
        r.sizes[entry.substr(0, entry.find('='))] = std::stoll(entry.substr(entry.find('=') + 1));
      else if (kind == "reduction")
        r.reductions[entry.substr(0, entry.find(':'))] = entry.substr(entry.find(':') + 1);
      else if (kind != "blocked") {
        r.kinds[entry.substr(0, entry.find(':'))] = kind;
        if (std::size_t at_combiner = entry.find(':'); at_combiner != std::string::npos)
          r.combiners[entry.substr(0, at_combiner)] = entry.substr(at_combiner + 1);
      }
    }
  }
  return r;
}

inline bool contains(const std::vector<std::string>& dim, const std::string& factor) {
  return std::find(dim.begin(), dim.end(), factor) != dim.end();
}
/// The dimension that has `factor`, or -1.
inline int dim_of(const Rule::Dims& dims, const std::string& factor) {
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (contains(dims[d], factor)) return static_cast<int>(d);
  return -1;
}
// A device has a contiguous block only if the factor is the major one of its dimension.
inline bool cuts_blocks(const Rule& r, const std::string& factor) {
  auto major = [&](const std::vector<Rule::Dims>& all) {
    for (const Rule::Dims& dims : all)
      for (const auto& dim : dims)
        if (contains(dim, factor) && dim[0] != factor) return false;
    return true;
  };
  return major(r.inputs) && major(r.outputs);
}

// Copies block `part` of `parts` along `dim` between the whole array and a shard.
inline HostArray block(const HostArray& whole, int dim, std::int64_t part, std::int64_t parts) {
  Shape shape = whole.shape, strides = shape.strides();
  auto d = static_cast<std::size_t>(dim);
  shape[d] /= parts;
  HostArray out(whole.dtype, shape);
  auto n = static_cast<std::size_t>(size_of(whole.dtype));
  std::byte* to = out.bytes;
  for_each_index(shape, [&](Shape index) {
    index[d] += part * shape[d];
    std::copy_n(whole.bytes + static_cast<std::size_t>(flat_index(index, strides)) * n, n, to);
    to += n;
  });
  return out;
}

// The attributes for one of `parts` shards along `factor`: the extents that they hold, of the
// result or of the first operand, are those of the shard.
inline Attrs local(const Attrs& attrs, const Rule& r, const std::string& factor,
                   std::int64_t parts) {
  Attrs out = attrs;
  auto cut = [&](const char* name, const Rule::Dims& dims) {
    if (!attrs.has(name)) return;
    Ints v = attrs.ints(name);
    // A slice of one element has one element of each shard.
    if (int d = dim_of(dims, factor); d >= 0 && static_cast<std::size_t>(d) < v.size())
      if (std::int64_t& n = v[static_cast<std::size_t>(d)]; n > 1) n /= parts;
    out.set(name, v);
  };
  cut("shape", r.outputs[0]);
  // The groups of a convolution are computed separately.
  if (factor == "g")
    for (const char* name : {"feature_groups", "batch_groups"})
      if (attrs.has(name) && attrs.i(name) > 1) out.set(name, attrs.i(name) / parts);
  if (!r.inputs.empty())
    for (const char* name : {"limit", "sizes", "slice_sizes"}) cut(name, r.inputs[0]);
  return out;
}

inline double combine(const std::string& how, double a, double b) {
  if (how == "+") return a + b;
  if (how == "*") return a * b;
  if (how == "max") return std::max(a, b);
  if (how == "min") return std::min(a, b);
  auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  return static_cast<double>(how == "and" ? x & y : x | y);
}

}  // namespace walk
