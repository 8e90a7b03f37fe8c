// Messages from the process that runs cells to the kernel.
#pragma once

#include <initializer_list>
#include <string>

namespace tessera_notebook {

/// Writes a message: its kind, and texts. What the cell has printed so far is written before.
void send(char kind, const std::initializer_list<std::string>& texts);

}  // namespace tessera_notebook
