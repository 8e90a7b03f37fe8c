// Writes the pictures of the lessons and of the gallery as SVG files. Charts, shardings and
// timelines are written a second time for narrow windows, as NAME_narrow.svg.
#pragma once

#include <tessera/array.h>
#include <tessera/plan.h>

#include <string>
#include <utility>
#include <vector>

/// A line of a chart, or its points if `dots` is set.
struct Curve {
  std::string name;
  std::vector<double> x, y;
  bool dots = false;
};

/// The texts of a chart; empty ones are left out. A logarithmic axis needs positive values.
struct ChartTexts {
  std::string title, x = {}, y = {};
  bool log_y = false;
};

/// Draws curves into one chart, whose axes cover all of their values.
void save_chart(const std::string& path, const std::vector<Curve>& curves, const ChartTexts& texts);

/// Draws a matrix as coloured cells, row 0 at the top. The colours cover the range of its values.
void save_heatmap(const std::string& path, const tessera::Array& values, const std::string& title);

/// Draws an arrow for each row (x, y) of `points`, with the direction and relative length given by
/// the same row of `directions`.
void save_arrows(const std::string& path, const tessera::Array& points,
                 const tessera::Array& directions, const std::string& title);

/// Draws each matrix with its parts, coloured by the device that holds them. A part that several
/// devices hold names all of them.
void save_shardings(const std::string& path,
                    const std::vector<std::pair<std::string, tessera::Array>>& arrays);

/// Draws the predicted timelines of plans below each other, on one scale: work in one lane and
/// collectives in another.
void save_timelines(const std::string& path,
                    const std::vector<std::pair<std::string, tessera::Plan>>& plans);
