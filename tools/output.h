// The output of the command, in one place, so that nothing from a file reaches the terminal raw and
// no failure to write is lost.
#pragma once

#include <string>
#include <string_view>

namespace command {

/// Writes a text of one line or more to stdout. Control characters but ends of lines and tabs, and
/// bytes that are no UTF-8, are written as "\x1b".
void say(std::string_view text);
/// As printf does.
[[gnu::format(printf, 1, 2)]] void sayf(const char* format, ...);
/// A name from a file in one line.
std::string name_text(std::string_view name);

/// Makes sure that 0, 1 and 2 are open, so that no file that is opened later takes their place, and
/// that a closed pipe is a failure to write and not the process's end. Unusable where there is no
/// stdout.
void prepare_output();
/// Hands to the system what was said. Unusable, with its reason, where anything was not written.
void finish_output();

}  // namespace command
