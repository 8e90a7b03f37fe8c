#include "11_fsdp_transformer/generate.h"

namespace fsdp_transformer {

std::vector<std::int32_t> generate(const Form& form, const Gpt& model,
                                   const std::vector<std::int32_t>& prompt, const Array& key,
                                   std::int64_t count, double temperature) {
  ts::JitOptions options{.name = "generate"};
  if (!form.axes.empty()) {
    options.mesh = form.mesh();
    options.in_shardings = {model_specs(form, model), ts::P(), ts::P()};
    options.out_shardings = ts::P();
  }
  auto run = ts::jit(
      [=](const Gpt& model, Array window, Array keys) {
        auto next = [&](Array before, Array key) {
          Array scores = logits(model, before.reshape(1, -1))(0, -1) / temperature;
          Array drawn = ts::random::categorical(key, scores);
          return std::pair(ts::concatenate({before(ts::from(1)), drawn.reshape(1)}), drawn);
        };
        return ts::scan(next, window, keys).second;
      },
      options);
  const Array window(prompt, ts::Shape{static_cast<std::int64_t>(prompt.size())});
  return run(model, window, ts::random::split(key, count)).to_vector<std::int32_t>();
}

}  // namespace fsdp_transformer
