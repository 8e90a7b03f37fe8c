// Runs a program as the body of a map over devices with different values, with shared memory and
// with memories of their own: each device must give the bits of a run alone.
#pragma once

#include "../specs.h"
#include "ops/build.h"
#include "random/check_program.h"
#include "runtime/host/devices.h"

namespace check {

/// The elements of `a`, rotated by `by`.
inline HostArray rotated(const HostArray& a, std::int64_t by) {
  HostArray out(a.dtype, a.shape);
  const auto n = static_cast<std::size_t>(size_of(a.dtype));
  for (std::int64_t i = 0; i < a.count(); ++i)
    std::memcpy(out.bytes + static_cast<std::size_t>(i) * n,
                a.bytes + static_cast<std::size_t>((i + by) % a.count()) * n, n);
  return out;
}

/// Describes an error of `p` on three devices, or returns an empty text. The bits of `choice` say
/// which inputs are equal on all devices.
inline std::string problem_on_devices(const ProgramPtr& p, const Arrays& inputs,
                                      std::uint64_t choice) {
  constexpr std::int64_t kDevices = 3;
  if (runtime::device_count() < kDevices) runtime::set_device_count(kDevices);
  auto stacked = [](const Shape& s, std::int64_t n) {
    Shape out = s;
    out.insert(out.begin(), n);
    return out;
  };
  std::vector<Arrays> of_device(kDevices);
  Arrays wholes;
  Strings in_specs;
  Builder body("body"), b("mapped");
  Values in, operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const HostArray& a = inputs[i];
    const bool alike = choice >> i & 1;
    Value v = body.input(Type(a.dtype, alike ? a.shape : stacked(a.shape, 1)));
    in.push_back(ops::reshape(v, a.shape));
    in_specs.push_back(alike ? "" : "i");
    HostArray whole(a.dtype, alike ? a.shape : stacked(a.shape, kDevices));
    for (std::int64_t k = 0; k < kDevices; ++k) {
      of_device[static_cast<std::size_t>(k)].push_back(alike ? a : rotated(a, k));
      if (a.size_bytes() && (!alike || k == 0))
        std::memcpy(whole.bytes + k * a.size_bytes(),
                    of_device[static_cast<std::size_t>(k)].back().bytes,
                    static_cast<std::size_t>(a.size_bytes()));
    }
    operands.push_back(b.input(Type(a.dtype, whole.shape)));
    wholes.push_back(whole);
  }
  Values out;
  for (Value v : body.inline_program(*p, in)) out.push_back(ops::reshape(v, stacked(v.shape(), 1)));
  Strings out_specs(out.size(), "i");
  ProgramPtr mapped =
      b.finish(ops::shard_map(b, body.finish(out), operands, first_devices({{"i"}, {kDevices}}),
                              specs(in_specs), specs(out_specs), false));
  std::vector<Arrays> expected;
  for (const Arrays& mine : of_device) expected.push_back(compiled(*runtime::compile(p), mine));
  for (bool isolated : {false, true}) {
    Arrays got = compiled(*std::make_shared<const runtime::TapeExecutable>(
                              mapped, runtime::CompileOptions{}, tape::Apart{isolated, {}}, false),
                          wholes);
    for (std::int64_t k = 0; k < kDevices; ++k) {
      Arrays mine;
      for (const HostArray& a : got) {
        Shape shape = a.shape;
        shape.erase(shape.begin());
        mine.emplace_back(a.dtype, shape,
                          a.bytes + k * (a.size_bytes() / std::max<std::int64_t>(1, kDevices)));
      }
      std::string wrong = compare_bits(
          mine, expected[static_cast<std::size_t>(k)],
          std::string(isolated ? "isolated" : "shared") + " on device " + std::to_string(k));
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace check
