#include "data.h"

#include <algorithm>
#include <filesystem>

namespace ts = tessera;
using ts::Array;

namespace {

bool has_test_set(const std::string& folder) {
  std::error_code ec;
  std::filesystem::directory_iterator at(folder, ec);
  for (const std::filesystem::directory_iterator end; !ec && at != end; at.increment(ec))
    if (at->path().filename().string().starts_with("t10k-")) return true;
  if (ec)
    throw ts::IoError("the data folder " + folder + " cannot be read: " + ec.message() +
                      "; pass one with --data");
  return false;
}

std::string size_of(const ts::data::Images& set) {
  return std::to_string(set.images.shape(1)) + " x " + std::to_string(set.images.shape(2));
}

}  // namespace

Sets load(const std::string& folder) {
  std::error_code ec;
  if (!std::filesystem::is_directory(folder, ec) && ec != std::errc::permission_denied)
    throw ts::IoError("there is no data folder " + folder + "; pass one with --data");
  Sets s;
  if (has_test_set(folder)) {
    s.train = ts::data::load_images(folder, "train");
    s.test = ts::data::load_images(folder, "t10k");
    s.train_rows = ts::arange(s.train.labels.shape(0)).to_vector<std::int32_t>();
    s.test_rows = ts::arange(s.test.labels.shape(0)).to_vector<std::int32_t>();
  } else {
    s.train = s.test = ts::data::load_images(folder);
    auto parts = ts::data::split_per_class(ts::random::key(20240601), s.train.labels, 0.8);
    s.train_rows = parts.first.to_vector<std::int32_t>();
    s.test_rows = parts.second.to_vector<std::int32_t>();
  }
  for (const ts::data::Images* set : {&s.train, &s.test})
    if (set->images.dtype() != ts::u8 || set->labels.dtype() != ts::u8)
      throw ts::DTypeError("the images and labels in " + folder + " are " +
                           std::string(ts::name_of(set->images.dtype())) + " and " +
                           std::string(ts::name_of(set->labels.dtype())) +
                           "; this program reads unsigned bytes, IDX type 08");
  if (s.train_rows.empty() || s.test_rows.empty())
    throw ts::ShapeError("the data in " + folder + " has " + std::to_string(s.train_rows.size()) +
                         " examples to train on and " + std::to_string(s.test_rows.size()) +
                         " to test on; at least one of each is needed");
  if (size_of(s.train) != size_of(s.test))
    throw ts::ShapeError("the training images are " + size_of(s.train) + ", those to test on " +
                         size_of(s.test) + "; they have to be of one size");
  if (s.train.images.shape(1) < 4 || s.train.images.shape(2) < 4)
    throw ts::ShapeError("the images are " + size_of(s.train) + "; two poolings need 4 x 4");
  s.classes = std::max(ts::item<std::int64_t>(ts::max(s.train.labels)),
                       ts::item<std::int64_t>(ts::max(s.test.labels))) +
              1;
  return s;
}

Batch gather(const ts::data::Images& set, const std::vector<std::int32_t>& indices,
             std::int64_t devices) {
  std::int64_t h = set.images.shape(1), w = set.images.shape(2);
  auto pixels = set.images.host<std::uint8_t>();
  auto labels = set.labels.host<std::uint8_t>();
  std::vector<std::uint8_t> x;
  std::vector<std::int32_t> y;
  x.reserve(indices.size() * static_cast<std::size_t>(h * w));
  for (std::int32_t i : indices) {
    auto row = pixels.subspan(static_cast<std::size_t>(i * h * w), static_cast<std::size_t>(h * w));
    x.insert(x.end(), row.begin(), row.end());
    y.push_back(labels[static_cast<std::size_t>(i)]);
  }
  std::int64_t each = static_cast<std::int64_t>(indices.size()) / devices;
  return {Array(x, {devices, each, h, w, std::int64_t{1}}), Array(y, {devices, each})};
}
