// The output of the command, in one place, so that nothing from a file reaches the terminal
// unescaped and every failed write is noticed.
#pragma once

#include <string>
#include <string_view>

namespace command {

/// Writes a text of one or more lines to stdout. Control characters other than newlines and tabs,
/// and bytes that are not UTF-8, are written as escapes such as "\x1b".
void say(std::string_view text);
/// Formats like printf.
[[gnu::format(printf, 1, 2)]] void sayf(const char* format, ...);
/// A name from a file, as one line.
std::string name_text(std::string_view name);

/// Makes sure that descriptors 0, 1 and 2 are open, so that no file opened later takes their place,
/// and that a closed pipe causes a write error instead of ending the process. Throws Unusable if
/// there is no stdout.
void prepare_output();
/// Flushes the output. Throws Unusable with the reason if anything was not written.
void finish_output();

}  // namespace command
