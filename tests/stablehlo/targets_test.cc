// The routines by which each platform computes factorisations.
#include "stablehlo/emit/target.h"

#include "ops/linalg/schur.h"
#include "ops/linalg/solve.h"
#include "ops/registry_values.h"
#include "stablehlo/emit/emission.h"
#include "stablehlo/emit/rules.h"
#include "stablehlo/roundtrip.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

bool is_library_op(const ts::Op& op) {
  const ts::stablehlo::Emission* e = ts::stablehlo::emission_of(op);
  return e && e->decomposed == ts::stablehlo::write::library_call;
}

std::string text_for(const ts::Program& p, const ts::stablehlo::Target& target) {
  return ts::stablehlo::emit_module(p, {}, target);
}

// The names of the custom calls in a module.
std::set<std::string> called(const std::string& text) {
  static const std::regex call("custom_call @(\\w+)");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

// An equation for each op that libraries compute, for matrices of this type.
std::vector<ts::ProgramPtr> library_programs(const ts::Type& matrix) {
  std::vector<ts::ProgramPtr> out;
  const auto add = [&](auto&& write) {
    ts::Builder b;
    out.push_back(b.finish(write(b.input(matrix))));
  };
  using ts::Value, ts::Values;
  const bool square = matrix.shape[0] == matrix.shape[1];
  add([](Value a) { return ts::ops::lu(a); });
  for (const bool full : {false, true}) {
    add([&](Value a) { return ts::ops::qr(a, full); });
    add([&](Value a) { return ts::ops::svd(a, true, full); });
  }
  add([](Value a) { return ts::ops::svd(a, false, false); });
  if (!square) return out;
  for (const bool vectors : {false, true}) {
    add([&](Value a) { return ts::ops::eigh(a, vectors); });
    add([&](Value a) { return ts::ops::eig(a, vectors); });
  }
  add([](Value a) { return ts::ops::schur(a); });
  return out;
}

TEST(Targets, EachOpOfALibraryHasATargetAndEachRowIsAnOp) {
  std::set<std::string_view> rows;
  std::set<std::string_view> platforms;
  for (const ts::stablehlo::Target& t : ts::stablehlo::targets()) {
    EXPECT_TRUE(platforms.insert(t.platform).second) << t.platform;
    EXPECT_EQ(ts::stablehlo::find_target(t.platform), &t);
    std::set<std::string_view> own;
    for (const ts::stablehlo::LibraryOp& l : t.library) {
      EXPECT_TRUE(own.insert(l.op).second) << t.platform << ": " << l.op << " twice";
      rows.insert(l.op);
      const ts::Op* op = ts::Registry::get().find(l.op);
      ASSERT_TRUE(op) << l.op;
      EXPECT_TRUE(is_library_op(*op)) << l.op << " is written without a library";
      EXPECT_EQ(t.find(*op), &l);
      EXPECT_TRUE(l.write);
      EXPECT_FALSE(l.dtypes.empty()) << l.op;
    }
  }
  EXPECT_EQ(platforms, (std::set<std::string_view>{"cpu", "cuda", "portable", "rocm", "tpu"}));
  for (const auto& op : ts::Registry::get().all())
    EXPECT_EQ(is_library_op(*op), rows.contains(op->name)) << op->name;
}

// Every routine that a target calls is one that JAX registers for the platform; other ops call
// none.
TEST(Targets, CallTheRoutinesOfTheirPlatforms) {
  std::set<std::string> lapack;
  for (const char* letter : {"s", "d", "c", "z"})
    for (const char* routine : {"getrf", "geqrf", "gesdd", "geev", "gees"})
      lapack.insert(std::string("lapack_") + letter + routine + "_ffi");
  for (const char* routine :
       {"sorgqr", "dorgqr", "cungqr", "zungqr", "ssyevd", "dsyevd", "cheevd", "zheevd"})
    lapack.insert(std::string("lapack_") + routine + "_ffi");
  std::set<std::string> solver;
  for (const char* routine : {"getrf", "geqrf", "orgqr", "gesvdj", "gesvd", "syevd"})
    solver.insert(std::string("hipsolver_") + routine + "_ffi");
  std::set<std::string> cusolver{"cusolver_geev_ffi"};
  for (const std::string& name : solver) cusolver.insert("cusolver" + name.substr(9));
  const std::map<std::string_view, std::set<std::string>> known{
      {"cpu", lapack},
      {"cuda", cusolver},
      {"portable", {}},
      {"rocm", solver},
      {"tpu", {"LuDecomposition", "Qr", "ProductOfElementaryHouseholderReflectors", "Eigh"}}};
  for (const ts::stablehlo::Target& t : ts::stablehlo::targets()) {
    std::set<std::string> names;
    for (const ts::DType d : {ts::f32, ts::f64, ts::c64, ts::c128})
      for (const ts::Shape& shape : {ts::Shape{3, 3}, ts::Shape{1030, 2}, ts::Shape{2, 1030}})
        for (const ts::ProgramPtr& p : library_programs(ts::Type(d, shape))) {
          const ts::Op& op = *p->equations[0].op;
          const ts::stablehlo::LibraryOp* row = t.find(op);
          const bool has = row && std::count(row->dtypes.begin(), row->dtypes.end(), d);
          try {
            names.merge(called(text_for(*p, t)));
            EXPECT_TRUE(has) << t.platform << ": " << op.name;
          } catch (const ts::TraceError& e) {
            EXPECT_FALSE(has) << e.what();
          }
        }
    EXPECT_EQ(names, known.at(t.platform)) << t.platform;
  }
}

// Other readers see composites with unknown names, and use their decompositions, which call the
// platform's routines. These give the same bits.
TEST(Targets, DecompositionsGiveTheSameBits) {
  std::mt19937 random(5);
  for (const ts::stablehlo::Target& t : ts::stablehlo::targets())
    for (const ts::DType d : {ts::f32, ts::f64, ts::c64, ts::c128})
      for (const ts::Shape& shape :
           {ts::Shape{4, 4}, ts::Shape{2, 5, 5}, ts::Shape{5, 3}, ts::Shape{3, 5},
            ts::Shape{40, 34}, ts::Shape{34, 40}, ts::Shape{1030, 2}, ts::Shape{2, 1030},
            ts::Shape{0, 3}, ts::Shape{3, 0}, ts::Shape{0, 4, 4}}) {
        if (shape.size() == 3 && d == ts::c128) continue;
        ts::Type type(d, shape);
        for (const ts::ProgramPtr& p :
             library_programs(shape.size() == 3 ? ts::Type(d, {shape[1], shape[2]}) : type)) {
          ts::ProgramPtr program = p;
          if (shape.size() == 3) {  // the same equation for a batch
            ts::Builder b;
            const ts::Equation& e = p->equations[0];
            const ts::Values in{b.input(type)};
            program = b.finish(b.emit(*e.op, in, e.attrs));
          }
          const ts::Equation& e = program->equations[0];
          const ts::stablehlo::LibraryOp* row = t.find(*e.op);
          if (!row || !std::count(row->dtypes.begin(), row->dtypes.end(), d)) continue;
          std::string text = text_for(*program, t);
          for (std::size_t at; (at = text.find("\"tessera.")) != std::string::npos;)
            text.replace(at, 9, "\"another.");
          const walk::Arrays in{walk::draw(type, random, -1, 1, 0, 0)};
          const walk::Arrays want = evaluate(*program, in),
                             got = evaluate(*roundtrip::read(text).program, in);
          ASSERT_EQ(got.size(), want.size()) << text;
          for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i].dtype, want[i].dtype) << text;
            ASSERT_EQ(got[i].shape, want[i].shape) << text;
            // For small matrices, Jacobi's method returns all columns, and the last ones differ
            // from those of the routine that returns some. GPUs and TPUs compute eigenvalues with
            // their vectors, in another order of operations than without.
            const bool cut = text.find("gesvdj") != std::string::npos && shape[0] != shape[1] &&
                             std::min(shape[0], shape[1]) <= 32 && e.attrs.flag("vectors") &&
                             !e.attrs.flag("full");
            const bool with_vectors = text.find("tessera.eigh(") != std::string::npos &&
                                      t.platform != "cpu" && !e.attrs.flag("vectors");
            if (cut || with_vectors) continue;
            EXPECT_EQ(std::memcmp(got[i].bytes, want[i].bytes,
                                  static_cast<std::size_t>(want[i].size_bytes())),
                      0)
                << t.platform << ": result " << i << "\n"
                << text;
          }
        }
      }
}

// U S V^H is the matrix, also if only some of the columns that Jacobi's method returns are kept.
TEST(Targets, SomeColumnsOfAllThatJacobisMethodReturns) {
  for (const ts::Shape& shape : {ts::Shape{5, 3}, ts::Shape{3, 5}, ts::Shape{1, 4}}) {
    const Array a = ts::random::normal(ts::random::key(4), shape);
    std::string text = ts::stablehlo_text(
        {.platform = "cuda"},
        [](Array x) {
          const ts::linalg::SVD f = ts::linalg::svd(x, false);
          return ts::matmul(f.u * f.s, f.vh);
        },
        a);
    for (std::size_t at; (at = text.find("\"tessera.svd")) != std::string::npos;)
      text.replace(at, 9, "\"another.");
    EXPECT_TRUE(ts::allclose(ts::load_stablehlo_text(text)(a)[0], a, 1e-5, 1e-5).item<bool>());
  }
}

// HLO has no operations of CHLO.
TEST(Targets, ChloAsCustomCalls) {
  ts::Builder b;
  const ts::Value x = b.input(ts::Type(ts::DType::complex64, {2}));
  const ts::ProgramPtr p = b.finish(ts::Values{ts::ops::conj(x)});
  const auto line = [&](bool without_chlo) {
    ts::stablehlo::Exported how;
    how.without_chlo = without_chlo;
    const std::string text = ts::stablehlo::emit_module(*p, how);
    const std::size_t at = text.find("%0 = ");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(line(false),
            "%0 = \"chlo.conj\"(%arg0) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>");
  EXPECT_EQ(line(true),
            "%0 = \"stablehlo.custom_call\"(%arg0) <{call_target_name = \"chlo.conj\"}> : "
            "(tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>");
}

}  // namespace
