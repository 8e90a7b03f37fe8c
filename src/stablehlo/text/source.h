// The text of a file, and errors that point into it.
#pragma once

#include "stablehlo/text/memory.h"

#include <tessera/message.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tessera::inline v0::stablehlo {

/// Syntax trees point into the text and memory of their source, so they hold a SourcePtr.
struct Source {
  std::string name = {};  // of the file, for errors; empty if there is no file
  std::string text = {};
  bool is_binary = false;      // positions are reported in bytes
  mutable Memory memory = {};  // only the parser allocates here
};
using SourcePtr = std::shared_ptr<const Source>;

/// Where a part of a module comes from: the line of the original program, and the named scopes
/// there, "model/layer_0".
struct Origin {
  SourceLoc line;
  std::string scope;
};
/// The origin that `fail` reports on this thread in addition to the position; may be null.
const Origin*& origin_at_hand();

/// A message about a position; `fail` adds the line of the text and a caret.
struct Complaint {
  std::string problem;
  std::string rule = {};
  std::string advice = {};
};

/// The position of byte `at`: "model.mlir, line 3, column 7". Columns count characters of UTF-8.
std::string place_of(const Source& source, std::size_t at);
/// Throws IoError with the position, the line of the text and a caret.
[[noreturn]] void fail(const Source& source, std::size_t at, const Complaint& complaint);

/// `text` in quotes, shortened to one line of limited length, for messages.
std::string shown(std::string_view text);

}  // namespace tessera::inline v0::stablehlo
