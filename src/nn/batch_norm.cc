#include "nn/checks.h"

#include <tessera/collectives.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/message.h>
#include <tessera/nn/normalization.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::nn {

namespace {
void check(const char* function, double momentum, double epsilon, const SourceLoc& loc) {
  need_number(function, "the momentum", momentum, 0, 1,
              "0.9, the share of the running statistics that a step keeps", loc, true);
  need_number(function, "the epsilon", epsilon, 0, HUGE_VAL, "1e-5 is usual", loc);
}
}  // namespace

BatchNorm batch_norm(std::int64_t channels, const BatchNormOptions& o, std::source_location loc) {
  const InFunction called("batch_norm", loc);
  if (channels < 1)
    Message("batch_norm")
        .problem(std::to_string(channels) + " channels")
        .rule("a layer normalises at least one")
        .from(loc)
        .advice("as many as the data has: x.shape(-1)")
        .raise<ShapeError>();
  check("batch_norm", o.momentum, o.epsilon, loc);
  return {ones({channels}), zeros({channels}), zeros({channels}), ones({channels}),
          o.momentum,       o.epsilon,         o.axis_name};
}

namespace {

void check(const BatchNorm& layer, const Operand& x) {
  check("BatchNorm", layer.momentum, layer.epsilon, x.loc);
  const std::pair<const char*, const Array*> parameters[] = {
      {"scale", &layer.scale}, {"bias", &layer.bias}, {"mean", &layer.mean}, {"var", &layer.var}};
  for (const auto& [name, array] : parameters)
    need_parameter("BatchNorm", name, *array, "batch_norm(channels)", x.loc);
  need_array("BatchNorm", "x", x.array, x.loc);
  const std::int64_t channels = layer.scale.ndim() < 1 ? 1 : layer.scale.shape(-1);
  for (const auto& [name, array] : parameters)
    need_entries("BatchNorm", name, *array, channels, "channel", x.loc);
  if (x.array.ndim() >= 1 && x.array.shape(-1) == channels) return;
  Message("BatchNorm")
      .problem("x is " + describe(x.array) + ", the layer normalises " + std::to_string(channels) +
               " channels")
      .rule("channels are the last axis of x")
      .from(x.loc)
      .advice("batch_norm with as many channels as x has, or transpose channels-first data")
      .raise<ShapeError>();
}

void need_axis(const std::string& name, const SourceLoc& loc) {
  try {
    axis_size(name);
  } catch (const CollectiveError&) {
    Message("BatchNorm")
        .problem("there is no axis '" + name + "' here, over which it averages its statistics")
        .rule("the axis_name of the layer is bound by the pmap or vmap around its call")
        .from(loc)
        .advice("train inside pmap(f, {.axis_name = \"" + name +
                "\"}), or leave axis_name out for the statistics of each device")
        .raise<CollectiveError>();
  }
}

}  // namespace

std::pair<Array, BatchNorm> BatchNorm::train(Operand x) const {
  const InFunction called("BatchNorm", x.loc);
  check(*this, x);
  if (!axis_name.empty()) need_axis(axis_name, x.loc);
  if (x.array.size() == 0)
    Message("BatchNorm")
        .problem("x is " + describe(x.array))
        .rule("the statistics of a batch are those of at least one example")
        .from(x.loc)
        .advice("leave empty batches out of the training")
        .raise<ShapeError>();
  std::vector<std::int64_t> over;
  for (int i = 0; i + 1 < x.array.ndim(); ++i) over.push_back(i);
  Array wide = astype(x, x.array.dtype() == DType::float64 ? DType::float64 : DType::float32);
  Array m = v0::mean(wide, over), q = v0::mean(square(wide), over);
  if (!axis_name.empty()) {
    m = pmean({m, x.loc}, axis_name);
    q = pmean({q, x.loc}, axis_name);
  }
  // Rounding may make E[x^2] - E[x]^2 negative.
  Array v = maximum(q - square(m), 0.0);
  BatchNorm next = *this;
  next.mean = mean * momentum + stop_gradient(m) * (1 - momentum);
  next.var = var * momentum + stop_gradient(v) * (1 - momentum);
  Array y = (wide - m) * (rsqrt(v + epsilon) * scale) + bias;
  return {y.astype(x.array.dtype()), next};
}

Array BatchNorm::operator()(Operand x) const {
  const InFunction called("BatchNorm", x.loc);
  check(*this, x);
  Array wide = astype(x, x.array.dtype() == DType::float64 ? DType::float64 : DType::float32);
  Array m = stop_gradient(mean), v = stop_gradient(var);
  Array y = (wide - m) * (rsqrt(v + epsilon) * scale) + bias;
  return y.astype(x.array.dtype());
}

}  // namespace tessera::inline v0::nn
