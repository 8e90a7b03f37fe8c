// The texts of modules that stablehlo_text writes.
#pragma once

#include <cstddef>
#include <string>

namespace module_text {

/// The first line that has `part`; "none" if no line does.
inline std::string first_line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return "none";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

/// The module with @main, and other functions, of one device.
inline std::string module_of(const std::string& main, const std::string& functions) {
  return "module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} "
         "{\n" +
         main + functions + "}\n";
}

}  // namespace module_text
