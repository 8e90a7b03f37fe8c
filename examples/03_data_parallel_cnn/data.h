// The training and test sets of digits, and batches of them.
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

/// Loads MNIST's own split if the folder has it (train-*, t10k-*); else takes four fifths of each
/// class for training, chosen by a fixed key. The images of both sets have the same size.
Sets load(const std::string& folder);

/// Gathers the rows of a set that `indices` names, sharded over the devices.
Batch gather(const tessera::data::Images& set, const std::vector<std::int32_t>& indices,
             std::int64_t devices);
