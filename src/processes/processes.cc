#include "processes/processes.h"

#include "base/process.h"
#include "base/settings.h"
#include "base/warning.h"
#include "processes/group.h"
#include "processes/plugin.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace tessera::inline v0::processes {

namespace {
// The number of processes in this process's srun step; 0 if srun did not start it.
long started_by_srun() {
  const std::string n = settings::environment("SLURM_STEP_NUM_TASKS");
  return n.empty() ? 0 : std::atol(n.c_str());
}
}  // namespace

bool launched() {
  if (settings::text("TESSERA_TRANSPORT") == "none") return false;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const std::string value = settings::environment(name); !value.empty()) return value != "1";
  // PMIx does not give the number of processes. srun does, if it started this PMIx job; but in
  // heterogeneous jobs it gives the number of each component.
  if (!settings::environment("PMIX_RANK").empty())
    return !settings::environment("PMIX_NAMESPACE").starts_with("slurm.") ||
           !settings::environment("SLURM_HET_SIZE").empty() || started_by_srun() != 1;
  const std::string here = settings::environment("MPI_LOCALNRANKS");
  return !here.empty() && here != "1";
}

namespace {
// Warns if srun started several processes without PMI, which cannot find each other. This may be
// intended.
void warn_of_strangers(const SourceLoc& loc) {
  static std::atomic<bool> warned{false};
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (!settings::environment(name).empty()) return;
  const long n = started_by_srun();
  if (n > 1 && settings::text("TESSERA_TRANSPORT") != "none" && !warned.exchange(true))
    warn(Message("initialize")
             .problem("srun started " + std::to_string(n) +
                      " processes and nothing that joins them: each of them is for itself")
             .rule("processes find each other by PMIx, of which srun says where it is")
             .from(loc)
             .advice("srun --mpi=pmix, or TESSERA_TRANSPORT=none where it is meant so"));
}
}  // namespace

namespace {
std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}
}  // namespace

void join(const JoinOptions& options) {
  if (!(options.timeout_seconds > 0))
    Message("initialize")
        .problem("the timeout is " + number_text(options.timeout_seconds) + " s")
        .rule("a process is waited for as long as it says, more than 0 s")
        .from(options.loc)
        .advice("distributed::initialize({.timeout = 60})")
        .raise<Error>();
  if (!launched()) return warn_of_strangers(options.loc);
  static std::mutex once;
  const std::lock_guard lock(once);
  if (!own_group().enter(open_plugin, options)) return;
  std::atexit([] { own_group().leave(); });  // after all queued work
  library_was_used();  // registers its exit handler, which then runs before leave()
  own_group().agree(options);
}

double timeout_seconds() { return own_group().timeout(); }
int rank() { return own_group().rank(); }
int count() { return own_group().count(); }
bool several_threads() { return own_group().several_threads(); }
int count_here() { return std::max(1, static_cast<int>(own_group().node().size())); }
int cores() { return own_group().cores(); }
int cores_of_first() { return own_group().cores_of_first(); }
int machine_of(int rank) { return own_group().machine_of(rank); }

void barrier(std::string_view function, const SourceLoc& loc) {
  own_group().barrier(function, loc);
}
std::vector<std::byte> all_gather(std::string_view function, std::span<const std::byte> mine,
                                  const SourceLoc& loc) {
  return own_group().all_gather(function, mine, loc);
}
std::vector<std::vector<std::byte>> gather(std::string_view function,
                                           std::span<const std::byte> mine, const SourceLoc& loc) {
  return own_group().gather(function, mine, loc);
}
std::vector<std::int64_t> clock_offsets(std::string_view function, const SourceLoc& loc) {
  return own_group().clock_offsets(function, loc);
}

}  // namespace tessera::inline v0::processes
