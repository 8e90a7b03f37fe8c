#include "golden/names.h"

#include <tessera/arithmetic.h>
#include <tessera/grids.h>
#include <tessera/stacking.h>

namespace golden {

namespace ts = tessera;

namespace {
using In = const Arrays&;
using Args = const Arguments&;
Arrays pair(const std::array<Array, 2>& a) { return {a[0], a[1]}; }
ts::DType dtype_named(const std::string& name) { return name == "float64" ? ts::f64 : ts::f32; }
}  // namespace

void add_shapes(Table& t) {
#define ONE(name) t[#name] = { [](In in, Args) { return Arrays{ts::name(in[0])}; } }
#define TWO(name) t[#name] = {[](In in, Args) { return Arrays{ts::name(in[0], in[1])}; }}
#define LIST(name) t[#name] = {[](In in, Args) { return Arrays{ts::name(in)}; }}
  ONE(atleast_1d), ONE(atleast_2d), ONE(atleast_3d), ONE(fliplr), ONE(flipud);
  LIST(vstack), LIST(hstack), LIST(dstack), LIST(column_stack);
  t["block"] = {[](In in, Args) { return Arrays{ts::block({{in[0], in[1]}, {in[2], in[3]}})}; }};
  t["append"] = {[](In in, Args a) {
    return Arrays{a.words.empty() ? ts::append(in[0], in[1]) : ts::append(in[0], in[1], a.n(0))};
  }};
  t["broadcast_arrays"] = {[](In in, Args) { return ts::broadcast_arrays(in); }};
  t["array_split"] = {[](In in, Args a) { return ts::array_split(in[0], a.n(0), a.n(1)); }};
  t["vsplit"] = {[](In in, Args a) { return ts::vsplit(in[0], a.n(0)); }};
  t["hsplit"] = {[](In in, Args a) { return ts::hsplit(in[0], a.n(0)); }};
  t["dsplit"] = {[](In in, Args a) { return ts::dsplit(in[0], a.n(0)); }};
  t["unstack"] = {[](In in, Args a) { return ts::unstack(in[0], a.n(0)); }};
  t["delete_"] = {[](In in, Args a) {
    return Arrays{a.words.size() > 1 ? ts::delete_(in[0], a.n(0), a.n(1))
                                     : ts::delete_(in[0], a.n(0))};
  }};
  t["rollaxis"] = {[](In in, Args a) { return Arrays{ts::rollaxis(in[0], a.n(0), a.n(1))}; }};
  t["rot90"] = {[](In in, Args a) { return Arrays{ts::rot90(in[0], a.n(0), {a.n(1), a.n(2)})}; }};

  t["meshgrid"] = {
      [](In in, Args a) { return ts::meshgrid(in, {.indexing = a.s(0), .sparse = a.flag(1)}); }};
  t["diagonal"] = {
      [](In in, Args a) { return Arrays{ts::diagonal(in[0], a.n(0), a.n(1), a.n(2))}; }};
  t["diagflat"] = {[](In in, Args a) { return Arrays{ts::diagflat(in[0], a.n(0))}; }};
  TWO(fill_diagonal);
  t["vander"] = {[](In in, Args a) { return Arrays{ts::vander(in[0], a.n(0), a.flag(1))}; }, 16};
  t["ix_"] = {[](In in, Args) { return ts::ix_(in); }};
  t["indices"] = {[](In, Args a) { return Arrays{ts::indices(ts::Shape(a.all()))}; }};
  t["tri"] = {[](In, Args a) { return Arrays{ts::tri(a.n(0), a.n(1), a.n(2))}; }};
  t["tril_indices"] = {[](In, Args a) { return pair(ts::tril_indices(a.n(0), a.n(1), a.n(2))); }};
  t["triu_indices"] = {[](In, Args a) { return pair(ts::triu_indices(a.n(0), a.n(1), a.n(2))); }};
  t["identity"] = {[](In, Args a) { return Arrays{ts::identity(a.n(0))}; }};
  t["logspace"] = {[](In, Args a) {
    return Arrays{ts::logspace(a.d(0), a.d(1), a.n(2), a.flag(3), 10, dtype_named(a.s(4)))};
  }};
  t["geomspace"] = {[](In, Args a) {
    return Arrays{ts::geomspace(a.d(0), a.d(1), a.n(2), a.flag(3), dtype_named(a.s(4)))};
  }};

  ONE(fabs), ONE(signbit), ONE(deg2rad), ONE(rad2deg), ONE(sinc);
  TWO(copysign), TWO(fmax), TWO(fmin), TWO(fmod), TWO(heaviside), TWO(mod), TWO(gcd), TWO(lcm);
  TWO(ldexp), TWO(bitwise_and), TWO(bitwise_or), TWO(bitwise_xor), TWO(float_power);
  t["around"] = {[](In in, Args a) { return Arrays{ts::around(in[0], static_cast<int>(a.n(0)))}; }};
  t["divmod"] = {[](In in, Args) {
    const ts::DivMod r = ts::divmod(in[0], in[1]);
    return Arrays{r.quotient, r.remainder};
  }};
  t["select"] = {[](In in, Args) { return Arrays{ts::select({in[0], in[1]}, {in[2], in[3]}, 7)}; }};
#undef ONE
#undef TWO
#undef LIST
}

}  // namespace golden
