// Option names that these functions do not have: those of other libraries, common misspellings, and
// options of related functions. Each is listed at the position of the option that it replaces, so
// that a call with it selects the overload whose error lists the options that exist.
#pragma once

#include <tessera/axis_list.h>
#include <tessera/detail/anything.h>

namespace tessera::inline v0::detail {

/// For reductions.
struct NoReduceOption {
  Named named = Named();
  Anything dim{}, dims{}, axes{}, axis{}, keepdim{}, keep_dims{}, keepdims{}, out{}, type{},
      dtype{}, correction{}, unbiased{}, ddof{}, p{}, ord{}, initial{}, init{}, mask{}, where{},
      reverse{}, exclusive{};
};

/// For grad and value_and_grad.
struct NoGradOption {
  Named named = Named();
  Anything argnums{}, argnum{}, wrt{}, has_aux{}, holomorphic{}, allow_int{}, reduce_axes{};
};

struct NoJitOption {
  Anything axis_name{}, device{}, devices{}, backend{}, mesh{}, in_axes{}, in_specs{},
      in_axis_resources{}, in_shardings{}, out_axes{}, out_specs{}, out_axis_resources{},
      out_shardings{}, donated{}, donate_args{}, donate_argnums{}, donate_argnames{}, donate{},
      static_args{}, static_argnums{}, static_argnames{}, keep_unused{}, inlined{}, names{}, name{},
      link_speeds{}, links{};
};

struct NoPmapOption {
  Anything axis{}, axis_names{}, axisname{}, axis_name{}, in_axis{}, in_specs{}, in_axes{},
      out_axis{}, out_specs{}, out_axes{}, device{}, num_devices{}, device_count{}, backend{},
      mesh{}, devices{}, size{}, global_axis_size{}, axis_size{}, donated{}, donate_args{},
      donate_argnums{}, donate{}, static_args{}, static_argnums{}, static_broadcasted_argnums{},
      in_shardings{}, out_shardings{}, name{};
};

struct NoShardMapOption {
  Anything devices{}, mesh{}, in_axes{}, in_spec{}, in_shardings{}, in_specs{}, out_axes{},
      out_spec{}, out_shardings{}, out_specs{}, axis_name{}, axis_names{}, check_rep{}, check{},
      check_vma{}, donate_argnums{}, donate{}, name{};
};

struct NoVmapOption {
  Anything in_axis{}, in_dims{}, in_axes{}, out_axis{}, out_dims{}, out_axes{}, axis{}, axes{},
      axisname{}, spmd_axis_name{}, name{}, axis_name{}, size{}, axis_size{}, randomness{},
      chunk_size{}, batch_size{};
};

}  // namespace tessera::inline v0::detail
