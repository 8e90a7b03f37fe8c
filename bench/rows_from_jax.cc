// Models that JAX exported (examples/20_from_jax). The other libraries' rows read the same files.
#include "rows.h"

namespace bench {

namespace {

std::string file(const std::string& name) {
  return std::string(FROM_JAX_MODELS) + "/" + name + ".bin";
}

// Calls the file's function with the weights that its `init` drew, followed by zeros; an open
// dimension is 8.
Call model(const std::string& name) {
  std::vector<Array> arguments = ts::load_stablehlo(file(name + "_init"))(ts::random::key(0));
  const ts::LoadedFunction f = ts::load_stablehlo(file(name));
  for (std::size_t i = arguments.size(); i < f.inputs().size(); ++i) {
    ts::Shape shape = f.inputs()[i].shape;
    for (std::int64_t& n : shape) n = n < 0 ? 8 : n;
    arguments.push_back(ts::zeros(shape, f.inputs()[i].dtype));
  }
  ts::block_until_ready(arguments);
  return waited([=] { return f(arguments); });
}

}  // namespace

void add_from_jax_rows() {
  for (const char* name : {"resnet", "transformer", "diffusion"})
    rows().push_back({std::string("from_jax/") + name, [=] { return model(name); }});
}

}  // namespace bench
