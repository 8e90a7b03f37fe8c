// The losses of a run as a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// A number below the axis, at the loss with this index.
struct Mark {
  std::size_t at;
  std::int64_t label;
};

/// Losses on a logarithmic axis as SVG, each and their running mean; `below` says what the marks
/// count. IoError when it cannot be written.
void write_loss_svg(const std::string& path, const std::vector<double>& losses,
                    const std::vector<Mark>& marks, const std::string& title,
                    const std::string& below);
