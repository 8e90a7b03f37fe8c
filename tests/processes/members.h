// A group of two members, each of which stands for a process and runs on a thread of its own.
#pragma once

#include "processes/group.h"
#include "processes/memory_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace processes_test {

struct Members {
  explicit Members(bool one_machine) : network(2, one_machine) {}

  void together(const std::function<void(tessera::processes::Group&, int rank)>& f) {
    std::array<std::exception_ptr, 2> errors;
    std::vector<std::thread> threads;
    for (int r = 0; r < 2; ++r)
      threads.emplace_back([&, r] {
        try {
          f(groups[static_cast<std::size_t>(r)], r);
        } catch (...) {
          errors[static_cast<std::size_t>(r)] = std::current_exception();
        }
      });
    for (std::thread& t : threads) t.join();
    for (const std::exception_ptr& e : errors)
      if (e) std::rethrow_exception(e);
  }
  void join() {
    together([&](tessera::processes::Group& group, int rank) {
      tessera::processes::JoinOptions options;
      options.several_threads = true;
      EXPECT_TRUE(group.enter(network.member(rank), options));
      group.agree(options);
      EXPECT_FALSE(group.enter(network.member(rank), options));
    });
  }

  Network network;
  std::array<tessera::processes::Group, 2> groups;
};

}  // namespace processes_test
