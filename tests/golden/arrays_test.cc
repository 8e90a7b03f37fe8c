#include "golden/golden.h"

#include <tessera/contractions.h>
#include <tessera/convolution.h>
#include <tessera/manipulation.h>
#include <tessera/reductions.h>

namespace golden {

namespace ts = tessera;
using ts::all;

namespace {

using Out = std::vector<Array>;

// An axis argument such as "all", "0,2" or "1k" (keepdims).
struct Over {
  ts::AxisList axes;
  bool keepdims;
};
Over over(std::string v) {
  bool keep = !v.empty() && v.back() == 'k';
  if (keep) v.pop_back();
  if (v == "all") return {{}, keep};
  return {numbers(v), keep};
}

ts::ConvOptions conv_options(const std::string& v) {
  if (v == "valid") return {.padding = "VALID"};
  if (v == "stride2") return {.strides = {2, 2}};
  if (v == "lhs2")
    return {.padding = std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 1}},
            .input_dilation = {2, 2}};
  if (v == "rhs2") return {.kernel_dilation = {2, 2}};
  if (v == "pad")
    return {.padding = std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}, {0, 3}}};
  if (v == "groups2") return {.feature_group_count = 2};
  return {};
}

Array index(const Inputs& in, const std::string& v) {
  const Array& x = in[0];
  if (v == "1,all") return x(1, all);
  if (v == "::2,1:") return x(ts::range({}, {}, 2), ts::from(1));
  if (v == "::-1") return x(ts::range({}, {}, -1));
  if (v == "3:0:-2") return x(ts::range(3, 0, -2));
  if (v == "array") return x[in[1]];
  if (v == "array-all-array") return x(in[1], all, in[2]);
  if (v == "all-array-array") return x(all, in[1], in[2]);
  if (v == "0-all-array") return x(0, all, in[1]);
  return x(all, ts::newaxis, 1);
}

}  // namespace

void add_arrays(std::map<std::string, Function>& t) {
#define REDUCE(name)                                             \
  t[#name] = [](const Inputs& in, const std::string& v) {        \
    return Out{ts::name(in[0], over(v).axes, over(v).keepdims)}; \
  }
  REDUCE(sum);
  REDUCE(prod);
  REDUCE(mean);
  REDUCE(max);
  REDUCE(min);
  REDUCE(var);
  REDUCE(std);
  REDUCE(logsumexp);
  REDUCE(any);
  REDUCE(all);
  REDUCE(count_nonzero);
#undef REDUCE
#define ALONG(name)                                                            \
  t[#name] = [](const Inputs& in, const std::string& v) {                      \
    return Out{v == "all" ? ts::name(in[0]) : ts::name(in[0], numbers(v)[0])}; \
  }
  ALONG(argmax);
  ALONG(argmin);
  ALONG(cumsum);
  ALONG(cumprod);
#undef ALONG
  t["reshape"] = [](const Inputs& in, const std::string& v) {
    return Out{in[0].reshape(ts::Shape(numbers(v)))};
  };
  t["transpose"] = [](const Inputs& in, const std::string& v) {
    return Out{ts::transpose(in[0], numbers(v))};
  };
  t["swapaxes"] = [](const Inputs& in, const std::string&) {
    return Out{ts::swapaxes(in[0], 0, 2)};
  };
  t["moveaxis"] = [](const Inputs& in, const std::string&) {
    return Out{ts::moveaxis(in[0], 0, -1)};
  };
  t["expand_dims"] = [](const Inputs& in, const std::string&) {
    return Out{ts::expand_dims(in[0], 1)};
  };
  t["squeeze"] = [](const Inputs& in, const std::string&) { return Out{ts::squeeze(in[0])}; };
  t["broadcast_to"] = [](const Inputs& in, const std::string& v) {
    return Out{ts::broadcast_to(in[0], ts::Shape(numbers(v)))};
  };
  t["concatenate"] = [](const Inputs& in, const std::string&) {
    return Out{ts::concatenate(in, 1)};
  };
  t["stack"] = [](const Inputs& in, const std::string&) { return Out{ts::stack(in, 1)}; };
  t["split"] = [](const Inputs& in, const std::string&) { return ts::split(in[0], 3); };
  t["tile"] = [](const Inputs& in, const std::string& v) {
    return Out{ts::tile(in[0], numbers(v))};
  };
  t["repeat"] = [](const Inputs& in, const std::string&) { return Out{ts::repeat(in[0], 3, 1)}; };
  t["pad"] = [](const Inputs& in, const std::string&) {
    return Out{ts::pad(in[0], {{1, 2}, {0, 3}})};
  };
  t["flip"] = [](const Inputs& in, const std::string&) { return Out{ts::flip(in[0], 1)}; };
  t["roll"] = [](const Inputs& in, const std::string& v) {
    auto n = numbers(v);
    return Out{n.size() > 1 ? ts::roll(in[0], n[0], n[1]) : ts::roll(in[0], n[0])};
  };
  t["tril"] = [](const Inputs& in, const std::string&) { return Out{ts::tril(in[0], -1)}; };
  t["triu"] = [](const Inputs& in, const std::string&) { return Out{ts::triu(in[0], 1)}; };
  t["diag"] = [](const Inputs& in, const std::string&) { return Out{ts::diag(in[0])}; };
  t["trace"] = [](const Inputs& in, const std::string&) { return Out{ts::trace(in[0])}; };
  t["sort"] = [](const Inputs& in, const std::string&) { return Out{ts::sort(in[0])}; };
  t["argsort"] = [](const Inputs& in, const std::string&) { return Out{ts::argsort(in[0])}; };
  t["take"] = [](const Inputs& in, const std::string&) { return Out{ts::take(in[0], in[1], 0)}; };
  t["take_along_axis"] = [](const Inputs& in, const std::string&) {
    return Out{ts::take_along_axis(in[0], in[1], 1)};
  };
  t["one_hot"] = [](const Inputs& in, const std::string&) { return Out{ts::one_hot(in[0], 5)}; };
  t["index"] = [](const Inputs& in, const std::string& v) { return Out{index(in, v)}; };
  t["at_set"] = [](const Inputs& in, const std::string& v) {
    return Out{v == "1" ? in[0].at(1).set(in[1]) : in[0].at(ts::range(1, 3)).set(in[1])};
  };
  t["at_add"] = [](const Inputs& in, const std::string&) {
    return Out{in[0].at(in[1]).add(in[2])};
  };
  t["at_multiply"] = [](const Inputs& in, const std::string&) {
    return Out{in[0].at(ts::range({}, {}, 2)).multiply(in[1])};
  };
  t["at_max"] = [](const Inputs& in, const std::string&) {
    return Out{in[0].at(in[1]).max(in[2])};
  };
  t["dynamic_slice"] = [](const Inputs& in, const std::string&) {
    return Out{ts::dynamic_slice(in[0], {in[1], 0}, {2, 3})};
  };

  t["dot"] = [](const Inputs& in, const std::string&) { return Out{ts::dot(in[0], in[1])}; };
  t["matmul"] = [](const Inputs& in, const std::string&) { return Out{ts::matmul(in[0], in[1])}; };
  t["outer"] = [](const Inputs& in, const std::string&) { return Out{ts::outer(in[0], in[1])}; };
  t["inner"] = [](const Inputs& in, const std::string&) { return Out{ts::inner(in[0], in[1])}; };
  t["tensordot"] = [](const Inputs& in, const std::string&) {
    return Out{ts::tensordot(in[0], in[1], 2)};
  };
  t["einsum"] = [](const Inputs& in, const std::string& v) { return Out{ts::einsum(v, in)}; };
  t["conv"] = [](const Inputs& in, const std::string& v) {
    return Out{ts::conv(in[0], in[1], conv_options(v))};
  };
  t["max_pool"] = [](const Inputs& in, const std::string&) {
    return Out{ts::max_pool(in[0], {2, 2})};
  };
}

}  // namespace golden
