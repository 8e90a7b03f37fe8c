// Tests on eight devices.
#pragma once

#include <tessera/device.h>

#include <gtest/gtest.h>

class OnEight : public testing::Test {
 protected:
  OnEight() { tessera::set_device_count(8); }
  ~OnEight() override { tessera::set_device_count(before_); }
  const int before_ = tessera::device_count();
};
