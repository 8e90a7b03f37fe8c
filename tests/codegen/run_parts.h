// Runs a program in parts: by the clusters of fusion, or one equation at a time.
#pragma once

#include "codegen/fuse/fuse.h"
#include "codegen/run.h"

#include <functional>
#include <span>
#include <vector>

namespace run {

using Arrays = std::vector<ts::HostArray>;
using InArrays = std::span<const ts::HostArray>;

/// The values of a program, by variable, of which the inputs are known.
class Environment {
 public:
  Environment(const ts::Program& p, InArrays inputs) : program_(p), values_(p.types.size()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[p.inputs[i]] = inputs[i];
  }
  Arrays read(const std::vector<ts::Var>& vars) const {
    Arrays arrays;
    for (ts::Var v : vars) {
      EXPECT_NE(values_[v].bytes, nullptr) << "read before it is written";
      arrays.push_back(values_[v]);
    }
    return arrays;
  }
  void write(const std::vector<ts::Var>& vars, const Arrays& arrays) {
    for (std::size_t i = 0; i < arrays.size(); ++i) values_[vars[i]] = arrays[i];
  }
  Arrays results() const { return read(program_.outputs); }

 private:
  const ts::Program& program_;
  Arrays values_;
};

/// Runs clusters in order: kernels by `kernel`, other equations by their evaluators.
inline Arrays by_clusters(const ts::ProgramPtr& p, InArrays inputs,
                          const std::vector<ts::codegen::Cluster>& clusters,
                          const std::function<Arrays(const ts::ProgramPtr&, InArrays)>& kernel) {
  Environment values(*p, inputs);
  for (const ts::codegen::Cluster& c : clusters) {
    const Arrays in = values.read(c.inputs);
    Arrays out;
    if (c.kind == ts::codegen::Cluster::Kind::kernel) {
      out = kernel(c.program, in);
    } else {
      const ts::Equation& e = p->equations[c.equations[0]];
      for (ts::Var v : e.outputs) out.emplace_back(p->type(v).dtype, p->type(v).shape);
      e.op->evaluate({e.attrs, in, out});
    }
    values.write(c.outputs, out);
  }
  return values.results();
}

/// Runs each equation as a program of its own.
inline Arrays one_by_one(
    const ts::ProgramPtr& p, InArrays inputs,
    const std::function<Arrays(const ts::Equation&, const ts::ProgramPtr&, InArrays)>& single) {
  Environment values(*p, inputs);
  for (const ts::Equation& e : p->equations) {
    ts::Builder b;
    ts::Values in;
    for (ts::Var v : e.inputs) in.push_back(b.input(p->type(v)));
    values.write(e.outputs, single(e, b.finish(b.copy(e, in)), values.read(e.inputs)));
  }
  return values.results();
}

}  // namespace run
