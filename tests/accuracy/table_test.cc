// Every elementwise function of the public headers is in docs/accuracy.md or has a reason here.
#include "numpy/integers/declared.h"
#include "published.h"

#include <set>

namespace {

// Headers whose functions compute each float of the result from the operands at the same index.
const std::set<std::string>& elementwise_headers() {
  static const std::set<std::string> all{"elementwise.h", "special.h", "arithmetic.h", "bits.h",
                                         "activations.h"};
  return all;
}

// The other headers, with the reason why they have no such functions.
const std::map<std::string, std::string>& other_headers() {
  static const std::string arrangement = "moves elements, or chooses among them",
                           sums = "sums, whose errors are not those of an element",
                           algebra = "linear algebra", language = "no functions of numbers",
                           layers = "layers, made of sums and functions of the table",
                           draws = "draws numbers", files = "reads and writes";
  static const std::map<std::string, std::string> all{
      {"array.h", "methods are the functions of their names"},
      {"operators.h", "operators are the functions of their names"},
      {"at.h", arrangement},
      {"axes.h", language},
      {"autoshard.h", language},
      {"axis_list.h", language},
      {"cache.h", language},
      {"eager.h", language},
      {"calculus.h", sums},
      {"functional.h", language},
      {"remat.h", language},
      {"checkpoint_manager.h", files},
      {"checkpoint.h", files},
      {"collectives.h", sums},
      {"combine.h", sums},
      {"control_flow.h", language},
      {"convolution.h", sums},
      {"creation.h", "makes arrays"},
      {"custom.h", language},
      {"data.h", files},
      {"debug.h", language},
      {"device.h", language},
      {"distributed.h", language},
      {"distributions.h", draws},
      {"dlpack.h", files},
      {"dtype.h", language},
      {"error.h", language},
      {"fft.h", sums},
      {"grad.h", language},
      {"grids.h", "makes arrays"},
      {"index.h", arrangement},
      {"inline_vector.h", language},
      {"jit.h", language},
      {"limits.h", language},
      {"linalg.h", algebra},
      {"matrix_forms.h", algebra},
      {"interpolation.h", "sums of few elements with shares"},
      {"contractions.h", algebra},
      {"manipulation.h", arrangement},
      {"mesh.h", language},
      {"message.h", language},
      {"npy.h", files},
      {"npz.h", files},
      {"mask.h", "questions of parameters"},
      {"optimizer.h", "updates, made of functions of the table"},
      {"optimizers.h", "updates, made of functions of the table"},
      {"schedules.h", "rates of a step"},
      {"transformations.h", "updates, made of functions of the table"},
      {"ordering.h", arrangement},
      {"partition_spec.h", language},
      {"pipeline.h", language},
      {"gather_scatter.h", arrangement},
      {"plan.h", language},
      {"platform.h", language},
      {"pmap.h", language},
      {"polynomial.h", sums},
      {"products.h", sums},
      {"profile.h", language},
      {"random.h", draws},
      {"reductions.h", sums},
      {"reflect.h", language},
      {"safetensors.h", files},
      {"sets.h", arrangement},
      {"shape.h", language},
      {"shard_map.h", language},
      {"sharding.h", language},
      {"signal.h", sums},
      {"stablehlo.h", files},
      {"stacking.h", arrangement},
      {"static_array.h", language},
      {"statistics.h", sums},
      {"stats.h", "a density of vectors; of numbers it is made of functions of the table"},
      {"tessera.h", language},
      {"tree.h", language},
      {"tree_def.h", language},
      {"vmap.h", language},
      {"warning.h", language},
      {"attention.h", sums},
      {"initializers.h", draws},
      {"layers.h", layers},
      {"losses.h", "losses, made of differences and functions of the table"},
      {"normalization.h", layers},
      {"recurrent.h", layers},
  };
  return all;
}

// Elementwise functions without a row.
const std::map<std::string, std::string>& without_row() {
  static const std::string choice = "gives an operand or a constant, and tests/ops has its bits",
                           truth = "gives booleans or integers",
                           ieee = "IEEE, as divide's row says", bits = "of bits",
                           parts = "gives parts as they are", layer = "a layer, or a sum",
                           other_name = "by another name: ";
  static const std::map<std::string, std::string> all{
      {"add", ieee},
      {"subtract", ieee},
      {"multiply", ieee},
      {"negative", choice},
      {"abs", choice},
      {"fabs", choice},
      {"sign", choice},
      {"maximum", choice},
      {"minimum", choice},
      {"fmax", choice},
      {"fmin", choice},
      {"where", choice},
      {"select", choice},
      {"clip", choice},
      {"nan_to_num", choice},
      {"copysign", choice},
      {"heaviside", choice},
      {"gammasgn", choice},
      {"nextafter", choice},
      {"stop_gradient", choice},
      {"asarray", choice},
      {"astype", "rounds once, and tests/ops has its bits"},
      {"reduce_precision", "rounds once, and tests/ops has its bits"},
      {"nn::relu", choice},
      {"nn::relu6", choice},
      {"nn::hard_tanh", choice},
      {"logical_not", truth},
      {"logical_and", truth},
      {"logical_or", truth},
      {"logical_xor", truth},
      {"isnan", truth},
      {"isinf", truth},
      {"isfinite", truth},
      {"isreal", truth},
      {"iscomplex", truth},
      {"iscomplexobj", truth},
      {"isrealobj", truth},
      {"signbit", truth},
      {"equal", truth},
      {"not_equal", truth},
      {"less", truth},
      {"less_equal", truth},
      {"greater", truth},
      {"greater_equal", truth},
      {"gcd", truth},
      {"lcm", truth},
      {"bitwise_not", bits},
      {"bitwise_and", bits},
      {"bitwise_or", bits},
      {"bitwise_xor", bits},
      {"population_count", bits},
      {"bitwise_count", bits},
      {"count_leading_zeros", bits},
      {"mulhi", bits},
      {"bitcast_convert_type", bits},
      {"rng_bit_generator", bits},
      {"complex", parts},
      {"real", parts},
      {"imag", parts},
      {"conj", parts},
      {"conjugate", parts},
      {"angle", "arctan2 of the parts"},
      {"divmod", "floor_divide and remainder"},
      {"around", "round of a product with a power of ten, which is rounded itself, as NumPy's"},
      {"bernoulli", "no operand: numbers of float32, rounded once"},
      {"wofz", "complex: the table of these"},
      {"mod", other_name + "remainder"},
      {"pow", other_name + "power"},
      {"float_power", other_name + "power"},
      {"igamma", other_name + "gammainc"},
      {"igammac", other_name + "gammaincc"},
      {"nn::swish", other_name + "nn::silu"},
      {"nn::hard_swish", other_name + "nn::hard_silu"},
      {"nn::glu", "a product with sigmoid"},
      {"nn::standardize", layer},
      {"nn::softmax", layer},
      {"nn::log_softmax", layer},
  };
  return all;
}

TEST(AccuracyTable, HasEveryElementwiseFunction) {
  std::set<std::string> with_row, declared, headers;
  for (const auto& [name, bounds] : accuracy::published(accuracy::kRealTable, 4))
    with_row.insert(name.substr(0, name.find(" (")));
  for (const integers::Declared& d :
       integers::declared_functions(TESSERA_SOURCE_DIR "/include/tessera")) {
    headers.insert(d.header);
    if (other_headers().contains(d.header)) continue;
    EXPECT_TRUE(elementwise_headers().contains(d.header))
        << d.header << " is neither of elementwise functions nor has a reason here";
    declared.insert(d.name);
    EXPECT_TRUE(with_row.contains(d.name) || without_row().contains(d.name))
        << d.name << " of " << d.header << " has no row in docs/accuracy.md and no reason here";
    EXPECT_FALSE(with_row.contains(d.name) && without_row().contains(d.name)) << d.name;
  }
  for (const std::string& name : with_row) EXPECT_TRUE(declared.contains(name)) << name;
  for (const auto& [name, reason] : without_row())
    EXPECT_TRUE(declared.contains(name)) << name << " is gone";
}

}  // namespace
