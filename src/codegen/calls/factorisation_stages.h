// Shared code of factorisations that divide a few large matrices into blocks.
#pragma once

#include "codegen/calls/blas.h"
#include "codegen/calls/internal.h"
#include "codegen/calls/matrices.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace tessera::inline v0::codegen {

/// A failure flag per matrix: it has non-finite elements, or no factor.
class Failures {
 public:
  Failures(ScratchPlan& scratch, std::int64_t count)
      : at_(scratch.add(static_cast<std::size_t>(count) * sizeof(int))) {}
  std::atomic_ref<int> operator()(const RoutineArgs& args, std::int64_t matrix) const {
    return std::atomic_ref<int>(
        reinterpret_cast<int*>(static_cast<char*>(args.scratch) + at_)[matrix]);
  }

 private:
  std::size_t at_;
};

inline std::int64_t parts_of(std::int64_t extent, std::int64_t block) {
  return (extent + block - 1) / block;
}

/// Calls run(T{}, args, matrix, part) for each part of each matrix, in order.
template <class F>
Stage stage_of(const Matrices& x, std::int64_t parts, F run) {
  Stage stage;
  stage.tasks = x.count * parts;
  stage.run = [run, parts, dtype = x.dtype](const RoutineArgs& args, std::int64_t begin,
                                            std::int64_t end) {
    const OneThread guard;
    with_element(dtype, [&](auto tag) {
      for (std::int64_t task = begin; task < end; ++task)
        run(tag, args, task / parts, task % parts);
    });
  };
  return stage;
}

inline std::shared_ptr<Routine> begun(const CallArgs& a, const Matrices& x, double cost) {
  constexpr double kFlops = 4e10;
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 1e-5 + cost * x.flops() * static_cast<double>(x.count) / kFlops;
  return routine;
}

}  // namespace tessera::inline v0::codegen
