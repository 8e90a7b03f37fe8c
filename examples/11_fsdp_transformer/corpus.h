// The text as numbers, and batches of it.
#pragma once

#include "11_fsdp_transformer/model.h"

#include <string>
#include <vector>

namespace fsdp_transformer {

struct Corpus {
  std::string alphabet;  // in order; a character's number is its position
  std::vector<std::int32_t> text;
  std::vector<std::int32_t> encode(const std::string& s) const;
  std::string decode(const std::vector<std::int32_t>& ids) const;
};
/// Throws IoError if the file cannot be read or has more than `vocabulary` different characters.
Corpus load_corpus(const std::string& path, std::int64_t vocabulary);

struct Batch {
  Array ids, labels;  // int32 (batch, context); a label is the next character
};
/// Windows of the text at positions drawn from `key`. Each step has a key of its own, so training
/// can be resumed at any step.
Batch draw_batch(const Corpus& corpus, const Array& key, std::int64_t batch, std::int64_t context);

}  // namespace fsdp_transformer
