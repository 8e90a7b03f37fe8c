#include "11_fsdp_transformer/corpus.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

namespace fsdp_transformer {

std::vector<std::int32_t> Corpus::encode(const std::string& s) const {
  std::vector<std::int32_t> ids;
  for (char c : s) ids.push_back(static_cast<std::int32_t>(alphabet.find(c)));
  return ids;
}

std::string Corpus::decode(const std::vector<std::int32_t>& ids) const {
  // A vocabulary size that was rounded up has numbers without a character.
  std::string s;
  for (std::int32_t i : ids)
    s +=
        static_cast<std::size_t>(i) < alphabet.size() ? alphabet[static_cast<std::size_t>(i)] : '?';
  return s;
}

Corpus load_corpus(const std::string& path, std::int64_t vocabulary) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open() || file.bad())
    throw ts::IoError("the text " + path + " cannot be read: " + std::strerror(errno) +
                      "; pass one with --data");
  const std::set<char> letters(text.begin(), text.end());
  if (static_cast<std::int64_t>(letters.size()) > vocabulary)
    throw ts::IoError("the text " + path + " has " + std::to_string(letters.size()) +
                      " different characters; the model has room for " +
                      std::to_string(vocabulary));
  Corpus corpus{{letters.begin(), letters.end()}, {}};
  corpus.text = corpus.encode(text);
  return corpus;
}

Batch draw_batch(const Corpus& corpus, const Array& key, std::int64_t batch, std::int64_t context) {
  const auto length = static_cast<std::int64_t>(corpus.text.size());
  if (length <= context)
    throw ts::ShapeError("the text has " + std::to_string(length) + " characters; windows of " +
                         std::to_string(context) + " and one more do not fit");
  const auto places =
      ts::random::randint(key, {batch}, 0, length - context).to_vector<std::int32_t>();
  std::vector<std::int32_t> ids, labels;
  for (std::int32_t at : places) {
    const auto from = corpus.text.begin() + at;
    ids.insert(ids.end(), from, from + context);
    labels.insert(labels.end(), from + 1, from + 1 + context);
  }
  return {Array(ids, {batch, context}), Array(labels, {batch, context})};
}

}  // namespace fsdp_transformer
