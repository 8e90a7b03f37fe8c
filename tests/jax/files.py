"""JAX's test files, by the number of devices that both sides have for them."""

# The files of which the table is made.
ONE_DEVICE = """api_test api_util_test compilation_cache_test core_test custom_api_test custom_linear_solve_test debug_nans_test dlpack_test
    array_interoperability_test dtypes_test eigh_test export_back_compat_test fft_test image_test jax_numpy_error_test jet_test
    lax_autodiff_test lax_control_flow_test lax_numpy_einsum_test lax_numpy_indexing_test lax_numpy_operators_test lax_numpy_reducers_test
    lax_numpy_setops_test lax_numpy_test lax_numpy_ufuncs_test lax_numpy_vectorize_test lax_scipy_sparse_test
    lax_scipy_special_functions_test lax_scipy_spectral_dac_test lax_scipy_test lax_test lax_vmap_op_test lax_vmap_test linalg_test nn_test
    ode_test optimizers_test polynomial_test profiler_session_test profiler_test random_impl_test random_test scipy_fft_test
    scipy_interpolate_test scipy_ndimage_test scipy_optimize_test scipy_signal_test scipy_spatial_test scipy_stats_test
    sparse_bcoo_bcsr_test sparse_test sparsify_test stax_test svd_test cache_key_test""".split()
SEVERAL_DEVICES = """array_test checkify_test debugging_primitives_test export_test layout_test linalg_sharding_test memories_test
    mesh_utils_test multi_device_test pjit_test pmap_test python_callback_test random_lax_test shard_alike_test shard_map_test""".split()

# Further files, which run with --more: transformations, references, hijax and what else runs on a CPU.
MORE_ONE_DEVICE = """ann_test aot_test array_api_test array_extensibility_test batching_test blocked_sampler_test cholesky_update_test
    config_test custom_partitioning_sharding_rule_test custom_root_test device_test errors_test experimental_rnn_test extend_test
    fused_attention_stablehlo_test fused_test garbage_collection_guard_test generated_fun_test heap_profiler_test jax_jit_test
    jax_to_ir_test jaxpr_util_test key_reuse_test lax_numpy_hijax_test lobpcg_test logging_test metadata_test monitoring_test
    multibackend_test name_stack_test pickle_test pretty_printer_test qdwh_test scaled_dot_test scaled_matmul_stablehlo_test
    scheduling_groups_test shape_poly_test source_info_test source_mapper_test stack_test state_test stateful_rng_test traceback_test
    transfer_guard_test tree_util_test unary_ops_accuracy_test util_test x64_context_test xla_bridge_test xla_interpreter_test
    xla_metadata_test clear_backends_test""".split()
MORE_SEVERAL_DEVICES = """colocated_python_test custom_partitioning_test debug_info_test debugger_test error_check_test
    export_serialization_back_compat_test ffi_test hijax_test jaxpr_effects_test mutable_array_test overlap_test ragged_collective_test
    roofline_test string_array_test""".split()

SEVERAL = 8
DEVICES = {name: 1 for name in ONE_DEVICE + MORE_ONE_DEVICE} | {name: SEVERAL for name in SEVERAL_DEVICES + MORE_SEVERAL_DEVICES}
TABLE = ONE_DEVICE + SEVERAL_DEVICES
MORE = MORE_ONE_DEVICE + MORE_SEVERAL_DEVICES


def chosen(names, more=False):
    """The files that `names` ask for, which may leave out `_test` and `.py`; with no names all of the table, and the others with `more`."""
    if not names:
        return sorted(TABLE + (MORE if more else []))
    result = []
    for name in names:
        stem = name.rsplit("/", 1)[-1].removesuffix(".py").removesuffix("_test") + "_test"
        if stem not in DEVICES:
            raise SystemExit(f"jax_tests: {name} is not a file of tests/jax/files.py")
        result.append(stem)
    return result
