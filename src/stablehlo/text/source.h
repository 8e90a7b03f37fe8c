// The text of a file, and errors that point into it.
#pragma once

#include "stablehlo/text/memory.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tessera::inline v0::stablehlo {

/// What is parsed lives as long as somebody holds it; syntax trees point into its text and memory.
struct Source {
  std::string name = {};  // of the file, for errors; empty for a text
  std::string text = {};
  bool is_binary = false;      // places are counted in bytes
  mutable Memory memory = {};  // whoever parses writes here, and nobody behind them
};
using SourcePtr = std::shared_ptr<const Source>;

/// What a message says of a place: where, its line, and a caret below it.
struct Complaint {
  std::string problem;
  std::string rule = {};
  std::string advice = {};
};

/// "model.mlir, line 3, column 7", of the byte `at`. Columns count characters of UTF-8.
std::string place_of(const Source& source, std::size_t at);
/// Throws IoError with the place, the line of the text and a caret.
[[noreturn]] void fail(const Source& source, std::size_t at, const Complaint& complaint);

/// `text` in quotes, in one line and not too long, for messages.
std::string shown(std::string_view text);

}  // namespace tessera::inline v0::stablehlo
