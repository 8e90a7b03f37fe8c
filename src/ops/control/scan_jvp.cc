// JVP and batching of a scan: both find by fixed point which carries have tangents, or are stacked.
#include "ir/interpret.h"
#include "ops/batching.h"
#include "ops/build.h"
#include "ops/control/scan_rules.h"

#include "ops/control/nested.h"

namespace tessera::inline v0::ops {

JvpBoth scan_jvp(const JvpBothArgs& a) {
  ScanLayout s(a.attrs);
  std::vector<bool> nonzero(a.inputs.size()), instantiate(s.carry + s.ys);
  for (std::size_t i = 0; i < nonzero.size(); ++i) nonzero[i] = a.tangents[i].has_value();
  JvpProgram jvp;
  for (bool grew = true; grew;) {
    for (std::size_t i = 0; i < s.carry; ++i) instantiate[i] = nonzero[s.consts + i];
    jvp = jvp_program(*s.body, nonzero, instantiate);
    grew = false;
    for (std::size_t i = 0; i < s.carry; ++i)
      if (jvp.nonzero_out[i] && !nonzero[s.consts + i]) nonzero[s.consts + i] = grew = true;
  }

  // The transformed body has all tangents last; a scan needs the tangents of consts, carry and xs
  // next to their primals.
  Values groups[3];
  std::vector<std::size_t> inputs, outputs;
  std::vector<std::size_t> tangent_at(a.inputs.size());
  for (std::size_t i = 0, next = a.inputs.size(); i < a.inputs.size(); ++i)
    if (nonzero[i]) tangent_at[i] = next++;
  auto group = [&](Values& values, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      values.push_back(a.inputs[i]);
      inputs.push_back(i);
    }
    for (std::size_t i = from; i < to; ++i) {
      if (!nonzero[i]) continue;
      values.push_back(a.tangents[i] ? *a.tangents[i] : zeros(a.b, a.inputs[i].type()));
      inputs.push_back(tangent_at[i]);
    }
  };
  group(groups[0], 0, s.consts);
  group(groups[1], s.consts, s.first_x());
  group(groups[2], s.first_x(), a.inputs.size());

  std::size_t count = s.carry + s.ys;
  std::vector<std::size_t> out_tangent_at(count);
  for (std::size_t i = 0, next = count; i < count; ++i)
    if (jvp.nonzero_out[i]) out_tangent_at[i] = next++;
  std::vector<std::size_t> primal_result(count), tangent_result(count);
  auto out_group = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      primal_result[i] = outputs.size();
      outputs.push_back(i);
    }
    for (std::size_t i = from; i < to; ++i) {
      if (!jvp.nonzero_out[i]) continue;
      tangent_result[i] = outputs.size();
      outputs.push_back(out_tangent_at[i]);
    }
  };
  out_group(0, s.carry);
  out_group(s.carry, count);

  Values out = scan(reordered(*jvp.program, inputs, outputs), groups[0], groups[1], groups[2],
                    s.length, s.reverse, a.b);
  JvpBoth result;
  for (std::size_t i = 0; i < count; ++i) {
    result.outputs.push_back(out[primal_result[i]]);
    result.tangents.push_back(jvp.nonzero_out[i] ? MaybeValue(out[tangent_result[i]])
                                                 : MaybeValue());
  }
  return result;
}

BatchResult scan_batch(const BatchArgs& a) {
  ScanLayout s(a.attrs);
  Values in(a.inputs.begin(), a.inputs.end());
  std::vector<int> dims(a.dims.begin(), a.dims.end());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (dims[i] == kUnbatched || i < s.consts) continue;
    // Inside the loop a carry and an x are stacked along dimension 0.
    in[i] = move_dim(in[i], dims[i], i < s.first_x() ? 0 : 1);
    dims[i] = 0;
  }
  BatchProgram batched;
  std::vector<bool> force(s.carry + s.ys);
  for (bool grew = true; grew;) {
    for (std::size_t i = 0; i < s.carry; ++i) force[i] = dims[s.consts + i] != kUnbatched;
    batched = batch_program(*s.body, dims, a.size, a.axis_name, force);
    grew = false;
    for (std::size_t i = 0; i < s.carry; ++i) {
      std::size_t k = s.consts + i;
      if (!batched.batched_out[i] || dims[k] != kUnbatched) continue;
      in[k] = stacked_at(in[k], kUnbatched, 0, a.size);
      dims[k] = 0;
      grew = true;
    }
  }
  std::span<const Value> all(in);
  BatchResult result;
  result.outputs = scan(batched.program, all.subspan(0, s.consts), all.subspan(s.consts, s.carry),
                        all.subspan(s.first_x()), s.length, s.reverse, a.b);
  for (std::size_t i = 0; i < s.carry + s.ys; ++i)
    result.dims.push_back(!batched.batched_out[i] ? kUnbatched : i < s.carry ? 0 : 1);
  return result;
}

}  // namespace tessera::inline v0::ops
