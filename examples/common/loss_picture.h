// Draws the losses of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// A number shown below the axis, at the loss with this index.
struct Mark {
  std::size_t at;
  std::int64_t label;
};

/// Writes an SVG of the losses and their running mean on a logarithmic axis; `below` names the
/// quantity that the marks count. Throws IoError if the file cannot be written.
void write_loss_svg(const std::string& path, const std::vector<double>& losses,
                    const std::vector<Mark>& marks, const std::string& title,
                    const std::string& below);
