// The targets. JAX registers the same routines under these names for each platform; the operations
// `cholesky`, `triangular_solve` and `fft` of StableHLO exist on all of them and have no row.
#include "stablehlo/emit/target.h"

#include "stablehlo/emit/rules.h"

#include <algorithm>
#include <array>

namespace tessera::inline v0::stablehlo {

namespace {

constexpr std::array kFloats{DType::float32, DType::float64, DType::complex64, DType::complex128};
constexpr std::array kFloat32{DType::float32};

constexpr LibraryOp kLapack[] = {
    {"lu", write::lapack_lu, kFloats},   {"qr", write::lapack_qr, kFloats},
    {"svd", write::lapack_svd, kFloats}, {"eigh", write::lapack_eigh, kFloats},
    {"eig", write::lapack_eig, kFloats}, {"schur", write::lapack_schur, kFloats},
};
constexpr LibraryOp kCusolver[] = {
    {"lu", write::solver_lu, kFloats},   {"qr", write::solver_qr, kFloats},
    {"svd", write::solver_svd, kFloats}, {"eigh", write::solver_eigh, kFloats},
    {"eig", write::solver_eig, kFloats},
};
constexpr LibraryOp kHipsolver[] = {
    {"lu", write::solver_lu, kFloats},
    {"qr", write::solver_qr, kFloats},
    {"svd", write::solver_svd, kFloats},
    {"eigh", write::solver_eigh, kFloats},
};
constexpr LibraryOp kXla[] = {
    {"lu", write::xla_lu, kFloat32},
    {"qr", write::xla_qr, kFloat32},
    {"eigh", write::xla_eigh, kFloat32},
};

constexpr Target kTargets[] = {
    {.platform = "cpu", .library = kLapack, .prefix = "lapack_"},
    {.platform = "cuda", .library = kCusolver, .prefix = "cusolver_"},
    {.platform = "portable", .partitions = false},
    {.platform = "rocm", .library = kHipsolver, .prefix = "hipsolver_"},
    {.platform = "tpu", .library = kXla},
};

// `eig` and `schur` have none: the steps of the QR algorithm follow the values.
constexpr LoopForm kLoops[] = {
    {"lu", [](const Attrs&, Value a,
              const ops::LoopOptions& options) { return ops::lu_by_loops(a, options); }},
    {"qr",
     [](const Attrs& attrs, Value a, const ops::LoopOptions& options) {
       return ops::qr_by_loops(a, attrs.flag("full"), options);
     }},
    {"svd",
     [](const Attrs& attrs, Value a, const ops::LoopOptions& options) {
       return ops::svd_by_loops(a, attrs.flag("vectors"), attrs.flag("full"), options);
     }},
    {"eigh",
     [](const Attrs& attrs, Value a, const ops::LoopOptions& options) {
       return ops::eigh_by_loops(a, attrs.flag("vectors"), options);
     }},
};

}  // namespace

const LoopForm* find_loops(const Op& op) {
  const auto row = std::find_if(std::begin(kLoops), std::end(kLoops),
                                [&](const LoopForm& l) { return l.op == op.name; });
  return row == std::end(kLoops) ? nullptr : row;
}

const LibraryOp* Target::find(const Op& op) const {
  const auto row = std::find_if(library.begin(), library.end(),
                                [&](const LibraryOp& l) { return l.op == op.name; });
  return row == library.end() ? nullptr : &*row;
}

std::span<const Target> targets() { return kTargets; }

const Target* find_target(std::string_view platform) {
  const auto it = std::find_if(std::begin(kTargets), std::end(kTargets),
                               [&](const Target& t) { return t.platform == platform; });
  return it == std::end(kTargets) ? nullptr : &*it;
}

const Target& default_target() { return kTargets[0]; }

std::string listed(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace tessera::inline v0::stablehlo
