// Beside runs communication on another thread while its caller computes.
#include "runtime/host/beside.h"
#include "base/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace ts = tessera;
using ts::runtime::Beside;

// The two sides wait for flags that the other sets, so the test ends only if they overlap.
TEST(Beside, RunsWhileItsCallerDoes) {
  const ts::Inside inside;
  for (int turn = 0; turn < 100; ++turn) {
    std::atomic<bool> begun{false}, go_on{false};
    int value = 0;
    Beside beside([&] {
      begun = true;
      begun.notify_all();
      go_on.wait(false);
      value = turn;
    });
    begun.wait(false);
    go_on = true;
    go_on.notify_all();
    beside.wait();
    ASSERT_EQ(value, turn);
  }
}

TEST(Beside, GivesItsExceptionToWhoWaits) {
  const ts::Inside inside;
  Beside beside([] { throw std::runtime_error("no such process"); });
  std::string text;
  try {
    beside.wait();
  } catch (const std::runtime_error& e) {
    text = e.what();
  }
  EXPECT_EQ(text, "no such process");
  beside.wait();  // the error was reported once and is gone
}

// If the caller throws, the destructor waits, so that the work never outlives its data.
TEST(Beside, IsWaitedForWhereItsCallerFails) {
  const ts::Inside inside;
  std::atomic<bool> go_on{false};
  bool over = false;
  try {
    Beside beside([&] {
      go_on.wait(false);
      over = true;
    });
    go_on = true;
    go_on.notify_all();
    throw std::runtime_error("of the work");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(over);
}

TEST(Beside, RunsAtOnceInAChildOfFork) {
  {
    const ts::Inside inside;
    Beside([] {}).wait();  // starts the thread before the fork
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const ts::Inside inside;
    bool over = false;
    Beside beside([&] { over = true; });
    ::_exit(over ? 7 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}
