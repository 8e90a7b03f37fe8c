// Specs as tests write them.
#pragma once

#include "ir/attrs.h"

#include <string_view>

namespace ts = tessera;

/// Dimensions separated by ';', axes by ',': "" is replicated, "i" cuts dimension 0 over i, ";i"
/// dimension 1, "x,y" dimension 0 over x (major) and y.
inline ts::Spec spec(std::string_view text) {
  ts::Spec::Dims dims(1);
  std::string axis;
  auto flush = [&] {
    if (!axis.empty()) dims.back().push_back(axis);
    axis.clear();
  };
  for (char c : text) {
    if (c != ';' && c != ',') axis += c;
    if (c == ';' || c == ',') flush();
    if (c == ';') dims.emplace_back();
  }
  flush();
  return ts::Spec(std::move(dims));
}
inline ts::Specs specs(const std::vector<std::string>& texts) {
  ts::Specs all;
  for (const std::string& t : texts) all.push_back(spec(t));
  return all;
}
/// A mesh over the first devices.
inline ts::MeshRef first_devices(const ts::MeshShape& mesh) {
  return ts::MeshRef(ts::DeviceMesh{mesh, {}});
}
