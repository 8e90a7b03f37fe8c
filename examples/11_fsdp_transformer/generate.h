// Text from a trained model.
#pragma once

#include "11_fsdp_transformer/forms.h"

#include <vector>

namespace fsdp_transformer {

/// `count` characters that follow a prompt of as many as the model's context, drawn with probability
/// softmax(logits / temperature). One program, with the parameters where their form has them.
std::vector<std::int32_t> generate(const Form& form, const Gpt& model,
                                   const std::vector<std::int32_t>& prompt, const Array& key,
                                   std::int64_t count, double temperature);

}  // namespace fsdp_transformer
