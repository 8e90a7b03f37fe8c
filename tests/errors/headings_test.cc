// Misuses that are detected inside the function that the user called. The error names the function
// that was called, the user's line and the user's argument.
#include "errors/misuse.h"

namespace {

struct Model {
  Array weight;
  std::vector<Array> heads;
};
Array key() { return ts::random::key(1); }
Array shape_only() { return ts::abstract(ts::f32, {2}); }
Array leaked() {
  Array out;
  ts::jit([&](Array x) { return out = x + 1; })(ts::ones({2}));
  return out;
}
const auto same = [](Array x) { return x; };

}  // namespace

MISUSE(save_of_an_abstract_array) { ts::save("nowhere", Model{ts::ones(2), {shape_only()}}); }
MISUSE(equality_of_abstract_arrays) {
  Model m{shape_only(), {}};
  ts::tree::equal(m, m);
}
MISUSE(closeness_of_abstract_arrays) {
  Model m{shape_only(), {}};
  ts::tree::allclose(m, m);
}
MISUSE(stack_of_an_empty_array) { ts::stack({ts::ones(2), Array()}); }
MISUSE(concatenate_of_an_empty_array) { ts::concatenate({ts::ones(2), Array()}); }
MISUSE(batch_of_an_empty_array_sharded) { ts::data::shard_batch(Array(), 2); }
MISUSE(replicate_of_an_empty_array) { ts::replicate(Array(), 2); }
MISUSE(moveaxis_of_an_empty_array) { ts::moveaxis(Array(), 0, 1); }
MISUSE(swapaxes_of_an_axis_too_many) { ts::swapaxes(ts::ones({2, 3}), 0, 2); }
MISUSE(ravel_of_an_empty_array) { ts::ravel(Array()); }
MISUSE(method_of_an_empty_array) { Array().sum(); }
MISUSE(shape_of_an_empty_array) { Array().shape(); }
MISUSE(positions_beyond_the_last_axis) { ts::split_at(ts::ones(4), {2}, 1); }
MISUSE(broadcast_of_an_empty_array) { ts::broadcast_to(Array(), {2}); }
MISUSE(equality_with_an_empty_array) { ts::array_equal(ts::ones(2), Array()); }

MISUSE(cond_on_an_empty_array) { ts::cond(Array(), same, same, ts::ones(2)); }
MISUSE(switch_on_an_empty_array) { ts::switch_(Array(), std::tuple(same, same), ts::ones(2)); }
MISUSE(switch_of_a_leaked_operand) { ts::switch_(0, std::tuple(same, same), leaked()); }
MISUSE(loop_from_an_abstract_array) {
  ts::fori_loop(
      0, 3, [](Array, Array x) { return x; }, shape_only());
}
MISUSE(while_from_a_leaked_array) {
  ts::while_loop([](Array x) { return ts::all(x < 3); }, [](Array x) { return x + 1; }, leaked());
}
MISUSE(scan_over_an_abstract_array) {
  ts::scan([](Array c, Array x) { return std::pair(c + x, c); }, 0.0f, shape_only());
}
MISUSE(associative_scan_of_an_abstract_array) {
  ts::associative_scan([](Array a, Array b) { return a + b; }, shape_only());
}

MISUSE(leaked_array_in_a_jitted_call) {
  ts::jit([](Model m, Array x) { return m.weight + m.heads[0] + x; }, {.name = "step"})(
      Model{ts::ones(2), {leaked()}}, ts::ones(2));
}
MISUSE(abstract_array_in_a_mapped_call) {
  ts::vmap([](Model m) { return m.weight; })(Model{shape_only(), {}});
}
MISUSE(abstract_array_in_a_gradient) {
  ts::grad([](Model m) { return ts::sum(m.weight); })(Model{shape_only(), {}});
}
MISUSE(abstract_array_in_a_pullback) { ts::vjp(same, shape_only()); }
MISUSE(abstract_array_in_a_jacobian) { ts::jacfwd(same)(shape_only()); }

MISUSE(choice_from_a_scalar) { ts::random::choice(key(), Array(1.0), {2}); }
MISUSE(fold_in_an_empty_array) { ts::random::fold_in(key(), Array()); }

MISUSE(matmul_of_other_batches) { ts::matmul(ts::ones({2, 3, 4}), ts::ones({5, 4, 3})); }
MISUSE(matmul_of_a_vector_of_another_length) { ts::matmul(ts::ones(3), ts::ones({2, 4, 3})); }

MISUSE(device_counted_from_minus_one) { ts::device_put(ts::ones(2), ts::Device{-1}); }
MISUSE(device_beyond_all_there_can_be) { ts::device_put(ts::ones(2), ts::Device{100000}); }
MISUSE(axis_name_with_a_comma) { ts::pmap(same, {.axis_name = "a,b"}); }
MISUSE(axis_name_with_a_semicolon) { ts::vmap(same, {.axis_name = "a;b"})(ts::ones({2, 2})); }

MISUSE(mask_of_another_shape) { ts::ones({2, 3}).at(ts::ones(3) > 0).set(0); }
MISUSE(mask_with_a_value_for_each_place) { ts::ones(3).at(ts::ones(3) > 0).set(ts::ones(3)); }
MISUSE(unpack_of_another_rank) { ts::ones({2, 3}).shape().unpack<3>(); }
MISUSE(unpack_of_another_length) { ts::ones({2, 3}).unpack<3>(); }

MISUSE(max_where_nothing_may_count) { ts::max(ts::ones(3), {.where = ts::ones(3) > 0}); }
MISUSE(sum_where_another_shape_says) { ts::sum(ts::ones(3), {.where = ts::ones(2) > 0}); }
MISUSE(sum_where_numbers_say) { ts::mean(ts::ones(3), {.where = ts::ones(3)}); }
MISUSE(sum_of_integers_from_a_half) { ts::sum(ts::arange(3), {.initial = 0.5}); }
MISUSE(sum_from_many) { ts::sum(ts::ones(3), {.initial = ts::ones(3)}); }
MISUSE(norm_of_an_order_of_matrices) { ts::norm(ts::ones({2, 3}), {.ord = 3}); }
MISUSE(norm_of_an_order_over_three_axes) { ts::norm(ts::ones({2, 3, 4}), {.ord = 1}); }
MISUSE(norm_of_nothing_by_infinity) { ts::norm(ts::zeros(0), {.ord = ts::inf}); }
MISUSE(slice_from_a_half) { ts::dynamic_slice(ts::ones(4), {0.5}, {2}); }
MISUSE(copy_of_a_leaked_array) { leaked().copy(); }
MISUSE(device_get_of_a_leaked_array) { ts::device_get(leaked()); }
MISUSE(full_of_another_shape) { ts::full({2}, ts::ones(3)); }
MISUSE(clip_by_another_shape) { ts::clip(ts::ones({2, 3}), ts::ones(2), 1); }
MISUSE(truncated_between_nothing) { ts::random::truncated_normal(key(), 1.0, -1.0, {2}); }
