// Helpers of the runtime's tests: programs of one shard_map, integer-valued arrays, and the oracle
// that runs devices in step.
#pragma once

#include "../specs.h"
#include "ir/builder.h"
#include "ir/op.h"
#include "ops/build.h"
#include "runtime/array_data.h"
#include "runtime/cpu/tape_executable.h"
#include "runtime/executable.h"
#include "runtime/host/devices.h"
#include "spmd/region/reference.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>

namespace rt {

namespace ts = tessera;
using namespace tessera::runtime;

struct Devices {
  int before = device_count();
  explicit Devices(int n) { set_device_count(n); }
  ~Devices() { set_device_count(before); }
};
struct Evaluated {
  explicit Evaluated(bool on) {
    if (on) setenv("TESSERA_EVALUATE", "1", 1);
  }
  ~Evaluated() { unsetenv("TESSERA_EVALUATE"); }
};
struct Isolated {
  explicit Isolated(bool on = true) { set_isolated(on); }
  ~Isolated() { set_isolated(false); }
};

/// Small integers that differ from element to element, converted to `type`.
inline ts::HostArray counted(const ts::Type& type, int seed = 0) {
  ts::HostArray a(type.dtype, type.shape);
  for (std::int64_t i = 0; i < a.count(); ++i) {
    std::int64_t value = (i * 7 + seed * 13) % 23 - 5;
    ts::dispatch(type.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_same_v<T, bool>)
        a.data<bool>()[i] = value > 3;
      else if constexpr (std::is_constructible_v<T, float> && !std::is_arithmetic_v<T>)
        a.data<T>()[i] = T(static_cast<float>(value));
      else
        a.data<T>()[i] = static_cast<T>(value);
    });
  }
  return a;
}
inline std::vector<double> numbers(const ts::HostArray& a) {
  std::vector<double> v;
  for (std::int64_t i = 0; i < a.count(); ++i) v.push_back(a.number(i));
  return v;
}
inline ts::HostArray host(const ArrayData& a) {
  BufferPtr hold;
  const std::byte* p = dense_bytes(a, hold);
  ts::HostArray h(a.type.dtype, a.type.shape);
  std::memcpy(h.bytes, p, static_cast<std::size_t>(h.size_bytes()));
  return h;
}
inline bool same_bits(const ts::HostArray& a, const ts::HostArray& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::memcmp(a.bytes, b.bytes, static_cast<std::size_t>(a.size_bytes())) == 0;
}
inline ArrayDataPtr put(const ts::HostArray& a) {
  return from_host(ts::Type(a.dtype, a.shape), a.bytes);
}

inline std::vector<ArrayDataPtr> run(const ts::ProgramPtr& p,
                                     const std::vector<ts::HostArray>& inputs) {
  std::vector<ArrayDataPtr> in;
  for (const auto& a : inputs) in.push_back(put(a));
  return compile(p)->run(in);
}

/// Emits a body from its inputs.
using Body = std::function<ts::Values(ts::Builder&, ts::Values)>;
inline ts::ProgramPtr program(const std::vector<ts::Type>& types, const Body& body) {
  ts::Builder b("body");
  ts::Values in;
  for (const auto& t : types) in.push_back(b.input(t));
  ts::Values out = body(b, in);
  return b.finish(out);
}

/// Runs a program on devices that have separate memories along some axes of the mesh.
inline std::vector<ArrayDataPtr> run_apart(const ts::ProgramPtr& p,
                                           const std::vector<ts::HostArray>& inputs,
                                           ts::tape::Apart apart) {
  std::vector<ArrayDataPtr> in;
  for (const auto& a : inputs) in.push_back(put(a));
  return std::make_shared<const TapeExecutable>(p, CompileOptions{}, std::move(apart), false)
      ->run(in);
}

struct Sharded {
  ts::MeshShape mesh;
  std::vector<ts::Type> wholes;
  ts::Strings in_specs, out_specs;
  ts::ProgramPtr body;

  Sharded(ts::MeshShape m, std::vector<ts::Type> w, ts::Strings in, ts::Strings out, const Body& f)
      : mesh(std::move(m)),
        wholes(std::move(w)),
        in_specs(std::move(in)),
        out_specs(std::move(out)) {
    std::vector<ts::Type> blocks;
    for (std::size_t i = 0; i < wholes.size(); ++i)
      blocks.emplace_back(wholes[i].dtype,
                          ts::block_shape(wholes[i].shape, spec(in_specs[i]), mesh));
    body = program(blocks, f);
  }
  ts::ProgramPtr whole() const {
    ts::Builder b("mapped");
    ts::Values in;
    for (const auto& t : wholes) in.push_back(b.input(t));
    return b.finish(ts::ops::shard_map(b, body, in, first_devices(mesh), specs(in_specs),
                                       specs(out_specs), false));
  }
  std::vector<ts::HostArray> oracle(const std::vector<ts::HostArray>& inputs) const {
    std::vector<std::vector<ts::HostArray>> blocks(static_cast<std::size_t>(mesh.size()));
    for (std::int64_t d = 0; d < mesh.size(); ++d)
      for (std::size_t i = 0; i < inputs.size(); ++i)
        blocks[static_cast<std::size_t>(d)].push_back(
            ts::spmd::block_of(inputs[i], spec(in_specs[i]), mesh, d));
    auto out = ts::spmd::evaluate_spmd(*body, mesh, blocks);
    std::vector<ts::HostArray> results;
    for (std::size_t k = 0; k < out_specs.size(); ++k) {
      std::vector<ts::HostArray> of;
      for (auto& device : out) of.push_back(device[k]);
      results.push_back(ts::spmd::assemble(of, spec(out_specs[k]), mesh));
    }
    return results;
  }
  /// Runs the program with shared and isolated devices, compiled and on evaluators, and compares
  /// all results with the oracle, bit for bit.
  void check() const {
    Devices devices(static_cast<int>(mesh.size()));
    std::vector<ts::HostArray> inputs;
    for (std::size_t i = 0; i < wholes.size(); ++i)
      inputs.push_back(counted(wholes[i], static_cast<int>(i)));
    auto expected = oracle(inputs);
    for (auto [isolate, evaluate] :
         {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}}) {
      Isolated isolated(isolate);
      Evaluated evaluated(evaluate);
      auto got = run(whole(), inputs);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t k = 0; k < got.size(); ++k) {
        EXPECT_EQ(numbers(host(*got[k])), numbers(expected[k]))
            << "result " << k << (isolate ? ", isolated" : "")
            << (evaluate ? ", on evaluators" : "");
        EXPECT_TRUE(same_bits(host(*got[k]), expected[k])) << "result " << k;
      }
    }
    if (mesh.axes.size() < 2) return;
    // As with several devices on each of several hosts, memory is shared along some axes only.
    for (const std::string& axis : mesh.axes) {
      auto got = run_apart(whole(), inputs, {false, {axis}});
      for (std::size_t k = 0; k < got.size(); ++k)
        EXPECT_TRUE(same_bits(host(*got[k]), expected[k]))
            << "result " << k << ", apart along " << axis;
    }
  }
};

}  // namespace rt
