// What an Array handle points at.
#pragma once

#include "ir/builder.h"
#include "runtime/array_data.h"

#include <tessera/array.h>

namespace tessera::inline v0::detail {

struct ArrayImpl {
  Type type;
  // concrete
  runtime::ArrayDataPtr data;
  mutable runtime::BufferPtr host_copy;  // keeps a gathered copy alive for host(); set under a lock
  // traced: a variable of the trace whose id this is
  std::uint64_t trace = 0;
  Var var = 0;
  SourceLoc loc;  // where it came from, for the story of a leaked value

  bool concrete() const { return data != nullptr; }
  bool traced() const { return trace != 0; }
};

Array make_concrete(runtime::ArrayDataPtr data);
Array make_traced(std::uint64_t trace, Var var, const Type& type, const SourceLoc& loc);
Array make_abstract(const Type& type);

/// The impl of a non-empty array; TraceError naming `function` for an empty one.
const ArrayImpl& need(const Array& a, const char* function);

}  // namespace tessera::inline v0::detail
