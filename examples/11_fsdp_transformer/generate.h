// Generates text with a trained model.
#pragma once

#include "11_fsdp_transformer/forms.h"

#include <vector>

namespace fsdp_transformer {

/// Returns the `count` characters that follow a prompt, whose length is the model's context; they
/// are drawn with probability softmax(logits / temperature). It runs as one program, with the
/// parameters sharded as in their form.
std::vector<std::int32_t> generate(const Form& form, const Gpt& model,
                                   const std::vector<std::int32_t>& prompt, const Array& key,
                                   std::int64_t count, double temperature);

}  // namespace fsdp_transformer
