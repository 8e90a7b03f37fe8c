// Models on disk in the safetensors format: a little-endian 64-bit length, a JSON header with the
// dtype, shape and byte range of each tensor, then the bytes. Names are the key paths of a tree's
// leaves, joined by dots: "layers.0.w".
#pragma once

#include <tessera/array.h>
#include <tessera/tree.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace tessera::inline v0 {

/// The contents of a file: `tensors` by name, and the `metadata` of its header.
struct SafeTensors {
  std::map<std::string, Array> tensors;
  std::map<std::string, std::string> metadata;
};

/// Writes to a temporary file and renames it, so a failure leaves the previous file intact. Creates
/// the folder if it is missing. Throws IoError with the reason.
TESSERA_API void save_safetensors(const std::string& path, const SafeTensors& contents,
                                  std::source_location loc = std::source_location::current());
/// Throws an IoError that names the damage: a length beyond the file, a header that is not JSON,
/// ranges that overlap or leave gaps, an unknown dtype, or sizes that disagree.
TESSERA_API SafeTensors load_safetensors(
    const std::string& path, std::source_location loc = std::source_location::current());
/// Reads the tensors from the bytes of such a file.
TESSERA_API SafeTensors load_safetensors(
    std::span<const std::byte> bytes, std::source_location loc = std::source_location::current());

namespace detail {
TESSERA_API SafeTensors named_tensors(const std::vector<std::string>& paths,
                                      const std::vector<Array>& leaves,
                                      std::map<std::string, std::string> metadata,
                                      std::source_location loc);
/// Returns the leaves for these paths. Throws a TreeError that lists every tensor that is missing,
/// superfluous, or of another shape or dtype.
TESSERA_API std::vector<Array> match_tensors(const std::string& file, const SafeTensors& found,
                                             const std::vector<std::string>& paths,
                                             const std::vector<Array>& like,
                                             std::source_location loc);
}  // namespace detail

/// Saves the non-empty leaves of a tree under their paths, joined by dots: "layers.0.w". Throws
/// TreeError if keys with dots or slashes give two leaves the same name.
template <class T>
void save(const std::string& path, const T& x, std::map<std::string, std::string> metadata = {},
          std::source_location loc = std::source_location::current()) {
  const InFunction called("save", loc);
  save_safetensors(
      path, detail::named_tensors(tree::paths(x), tree::leaves(x), std::move(metadata), loc), loc);
}
/// Returns a tree like `like` with the leaves of the file. Throws the errors of load_safetensors,
/// and TreeError if the tensors do not match the leaves.
template <class T>
T load(const std::string& path, const T& like,
       std::source_location loc = std::source_location::current()) {
  const InFunction called("load", loc);
  std::vector<Array> leaves = detail::match_tensors(path, load_safetensors(path, loc),
                                                    tree::paths(like), tree::leaves(like), loc);
  return tree::unflatten(like, leaves);
}

}  // namespace tessera::inline v0
