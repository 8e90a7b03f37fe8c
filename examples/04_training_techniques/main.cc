// The training techniques of the data-parallelism document, cell by cell: the state and the loop,
// pmean, gradient accumulation, mixed precision, masked batches, rates, and the pitfalls.
#include "common/command_line.h"
#include "common/outputs.h"
#include "show.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

using namespace training_techniques;

int main(int argc, char** argv) {
  std::string out = "runs/techniques";
  CLI::App app{"Techniques of data-parallel training, cell by cell, on 8 virtual devices"};
  app.add_option("--out", out, "folder for the trace")->capture_default_str();
  return run_example(app, argc, argv, [&] {
    // A folder that cannot be written is found before the cells run, not after them.
    std::error_code failed;
    std::filesystem::create_directories(out, failed);
    const bool taken = !failed && std::filesystem::is_directory(out + "/trace.json", failed);
    if (taken || ::access(out.c_str(), W_OK | X_OK) != 0) {
      const std::string why = taken    ? "trace.json is a folder"
                              : failed ? failed.message()
                                       : std::generic_category().message(errno);
      return refuse("cannot write the trace to the folder \"" + out + "\": " + why +
                    "; name another with --out");
    }
    use_devices(kDeviceCount);
    leave_reports_to_the_first();
    show_guide();
    show_loop();
    show_synchronisation();
    show_techniques();
    show_performance(out);
    show_pitfalls();
    return 0;
  });
}
