// The digits: what is trained and tested on, and batches of it.
#pragma once

#include <tessera/tessera.h>

#include <string>
#include <vector>

struct Batch {
  tessera::Array images;  // uint8 (devices, examples, height, width, 1)
  tessera::Array labels;  // int32 (devices, examples)
};

struct Sets {
  tessera::data::Images train, test;
  std::vector<std::int32_t> train_rows, test_rows;
  std::int64_t classes = 0;
};

/// MNIST's own split where the folder has one (train-*, t10k-*); else four fifths of each class to
/// train on, by a fixed key. Both sets have images of one size.
Sets load(const std::string& folder);

/// The rows of a set that `indices` names, cut for the devices.
Batch gather(const tessera::data::Images& set, const std::vector<std::int32_t>& indices,
             std::int64_t devices);
