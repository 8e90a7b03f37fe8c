// A folder of pages, one for each program, numbered in the order of creation.
#pragma once

#include "explain/question.h"

#include <string>

namespace tessera::inline v0::explain {

/// Plans a program and writes the page of its plan into `folder`, which is created if it is
/// missing. Returns the path of the file, whose name is a number and the program's name:
/// "0007_jit_step.html". The number is one more than the highest in the folder, and no file is
/// replaced, even if several threads and processes write pages at once. If the question names no
/// inputs, they are called "args[0]" and so on; those after the named ones are "constant 0" and so
/// on. Outputs without a name are "result[0]" and so on. Throws IoError if the page cannot be
/// written.
std::string write_page(const std::string& folder, Question question,
                       const PlanOptions& options = {});

}  // namespace tessera::inline v0::explain
