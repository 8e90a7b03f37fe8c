#include "golden/names.h"

#include <tessera/gather_scatter.h>
#include <tessera/manipulation.h>
#include <tessera/ordering.h>
#include <tessera/sets.h>

namespace golden {

namespace ts = tessera;

namespace {
using In = const Arrays&;
using Args = const Arguments&;
Arrays all_of(const ts::UniqueAll& u) { return {u.values, u.indices, u.inverse_indices, u.counts}; }
ts::SizeOptions size_of(Args a) {
  ts::SizeOptions o{.size = a.n(0)};
  if (a.words.size() > 1) o.fill_value = Array(a.n(1));
  return o;
}
const ts::GatherDimensionNumbers kRows{
    .offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
const ts::ScatterDimensionNumbers kIntoRows{
    .update_window_dims = {1}, .inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}};
}  // namespace

void add_sets(Table& t) {
  // The size of the results depends on values, unless it is given.
  t["nonzero_all"] = {[](In in, Args) { return ts::nonzero(in[0]); }, 0, false};
  t["where_all"] = {[](In in, Args) { return ts::where(in[0]); }, 0, false};
  t["argwhere_all"] = {[](In in, Args) { return Arrays{ts::argwhere(in[0])}; }, 0, false};
  t["flatnonzero_all"] = {[](In in, Args) { return Arrays{ts::flatnonzero(in[0])}; }, 0, false};
  t["extract_all"] = {[](In in, Args) { return Arrays{ts::extract(in[0], in[1])}; }, 0, false};
  t["unique_all_all"] = {[](In in, Args) { return all_of(ts::unique_all(in[0])); }, 0, false};
  t["unique_axis"] = {[](In in, Args a) { return all_of(ts::unique_all(in[0], {.axis = a.n(0)})); },
                      0, false};
  t["nonzero"] = {[](In in, Args a) { return ts::nonzero(in[0], size_of(a)); }};
  t["extract"] = {[](In in, Args a) { return Arrays{ts::extract(in[0], in[1], size_of(a))}; }};
  t["unique"] = {[](In in, Args a) { return Arrays{ts::unique(in[0], {.size = a.n(0)})}; }};
  t["unique_fill"] = {[](In in, Args a) {
    return Arrays{ts::unique(in[0], {.size = a.n(0), .fill_value = Array(3)})};
  }};
#define SET(name)                                                                           \
  t[#name "_all"] = {[](In in, Args) { return Arrays{ts::name(in[0], in[1])}; }, 0, false}; \
  t[#name] = { [](In in, Args a) { return Arrays{ts::name(in[0], in[1], size_of(a))}; } }
  SET(intersect1d);
  SET(union1d);
  SET(setdiff1d);
  SET(setxor1d);
#undef SET
  t["isin"] = {[](In in, Args a) { return Arrays{ts::isin(in[0], in[1], a.flag(0))}; }};

  t["searchsorted"] = {
      [](In in, Args a) { return Arrays{ts::searchsorted(in[0], in[1], {.side = a.s(0)})}; }};
  t["searchsorted_sorter"] = {
      [](In in, Args) { return Arrays{ts::searchsorted(in[0], in[1], {.sorter = in[2]})}; }};
  t["digitize"] = {[](In in, Args a) { return Arrays{ts::digitize(in[0], in[1], a.flag(0))}; }};
  t["lexsort"] = {[](In in, Args a) { return Arrays{ts::lexsort(in, a.n(0))}; }};
  t["sort_key_val"] = {[](In in, Args a) {
    const ts::SortedPairs r = ts::sort_key_val(in[0], in[1], a.n(0));
    return Arrays{r.keys, r.values};
  }};
  t["partition"] = {
      [](In in, Args a) { return Arrays{ts::sort(ts::partition(in[0], a.n(0), a.n(1)), a.n(1))}; }};
  t["approx_max_k"] = {[](In in, Args a) {
    const ts::ExtremeK r = ts::approx_max_k(in[0], a.n(0));
    return Arrays{r.values, r.indices};
  }};
  t["approx_min_k"] = {[](In in, Args a) {
    const ts::ExtremeK r = ts::approx_min_k(in[0], a.n(0));
    return Arrays{r.values, r.indices};
  }};

  t["choose"] = {[](In in, Args a) {
    return Arrays{ts::choose(in[0], Arrays(in.begin() + 1, in.end()), a.s(0))};
  }};
  t["place"] = {[](In in, Args) { return Arrays{ts::place(in[0], in[1], in[2])}; }};
  t["put_along_axis"] = {
      [](In in, Args a) { return Arrays{ts::put_along_axis(in[0], in[1], in[2], a.n(0))}; }};
  t["dynamic_index_in_dim"] = {[](In in, Args a) {
    return Arrays{ts::dynamic_index_in_dim(in[0], in[1], a.n(0), a.flag(1))};
  }};
  t["dynamic_slice_in_dim"] = {
      [](In in, Args a) { return Arrays{ts::dynamic_slice_in_dim(in[0], in[1], a.n(0), a.n(1))}; }};
  t["dynamic_update_slice_in_dim"] = {[](In in, Args a) {
    return Arrays{ts::dynamic_update_slice_in_dim(in[0], in[1], in[2], a.n(0))};
  }};
  t["dynamic_update_index_in_dim"] = {[](In in, Args a) {
    return Arrays{ts::dynamic_update_index_in_dim(in[0], in[1], in[2], a.n(0))};
  }};
  t["gather"] = {[](In in, Args) { return Arrays{ts::gather(in[0], in[1], kRows, {1, 5})}; }};
  t["scatter"] = {[](In in, Args) { return Arrays{ts::scatter(in[0], in[1], in[2], kIntoRows)}; }};
  t["scatter_add"] = {
      [](In in, Args) { return Arrays{ts::scatter_add(in[0], in[1], in[2], kIntoRows)}; }};
  t["unravel_index"] = {[](In in, Args a) { return ts::unravel_index(in[0], ts::Shape(a.all())); }};
  t["ravel_multi_index"] = {
      [](In in, Args a) { return Arrays{ts::ravel_multi_index(in, ts::Shape(a.all()))}; }};
}

}  // namespace golden
