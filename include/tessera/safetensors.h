// Models on disk in the safetensors format: a little-endian 64-bit length, a JSON header with
// dtype, shape and byte range of each tensor, then the bytes. Names are the key paths of a tree's
// leaves with dots: "layers.0.w".
#pragma once

#include <tessera/array.h>
#include <tessera/tree.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace tessera::inline v0 {

struct SafeTensors {
  std::map<std::string, Array> tensors;
  std::map<std::string, std::string> metadata;
};

/// Writes beside the file and renames: a failure leaves what was there before. Makes the folder
/// where it is missing. IoError with the reason.
TESSERA_API void save_safetensors(const std::string& path, const SafeTensors& contents,
                                  std::source_location loc = std::source_location::current());
/// IoError names what is damaged: a length beyond the file, a header that is no JSON, ranges that
/// overlap or leave holes, a dtype that is unknown, sizes that disagree.
TESSERA_API SafeTensors load_safetensors(
    const std::string& path, std::source_location loc = std::source_location::current());
/// The same from the bytes of such a file.
TESSERA_API SafeTensors load_safetensors(
    std::span<const std::byte> bytes, std::source_location loc = std::source_location::current());

namespace detail {
TESSERA_API SafeTensors named_tensors(const std::vector<std::string>& paths,
                                      const std::vector<Array>& leaves,
                                      std::map<std::string, std::string> metadata,
                                      std::source_location loc);
/// The leaves for these paths; TreeError lists every missing tensor, every one of another shape or
/// dtype, and those left over.
TESSERA_API std::vector<Array> match_tensors(const std::string& file, const SafeTensors& found,
                                             const std::vector<std::string>& paths,
                                             const std::vector<Array>& like,
                                             std::source_location loc);
}  // namespace detail

/// Saves the leaves of a tree that are not empty, by their paths with dots: "layers.0.w". TreeError
/// where keys with dots or slashes make two leaves one name.
template <class T>
void save(const std::string& path, const T& x, std::map<std::string, std::string> metadata = {},
          std::source_location loc = std::source_location::current()) {
  const InFunction called("save", loc);
  save_safetensors(
      path, detail::named_tensors(tree::paths(x), tree::leaves(x), std::move(metadata), loc), loc);
}
/// A tree like `like` with the leaves of the file.
template <class T>
T load(const std::string& path, const T& like,
       std::source_location loc = std::source_location::current()) {
  const InFunction called("load", loc);
  std::vector<Array> leaves = detail::match_tensors(path, load_safetensors(path, loc),
                                                    tree::paths(like), tree::leaves(like), loc);
  return tree::unflatten(like, std::span<const Array>(leaves));
}

}  // namespace tessera::inline v0
