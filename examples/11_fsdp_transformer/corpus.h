// The text as numbers, and batches of it.
#pragma once

#include "11_fsdp_transformer/model.h"

#include <string>
#include <vector>

namespace fsdp_transformer {

struct Corpus {
  std::string alphabet;  // in order; a character's number is its place
  std::vector<std::int32_t> text;
  std::vector<std::int32_t> encode(const std::string& s) const;
  std::string decode(const std::vector<std::int32_t>& ids) const;
};
/// IoError where the file cannot be read, or holds more different characters than `vocabulary`.
Corpus load_corpus(const std::string& path, std::int64_t vocabulary);

struct Batch {
  Array ids, labels;  // int32 (batch, context); a label is the character behind
};
/// Windows of the text from places drawn by `key`, which is the step's own, so that training can be
/// taken up anywhere.
Batch draw_batch(const Corpus& corpus, const Array& key, std::int64_t batch, std::int64_t context);

}  // namespace fsdp_transformer
