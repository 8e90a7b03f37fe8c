#include "runtime/gathered_reads.h"

#include "base/settings.h"
#include "processes/processes.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"
#include "spmd/place/blocks.h"

#include <algorithm>
#include <vector>

namespace tessera::inline v0::runtime {
namespace {

/// For each process and block, whether the process holds the block.
std::vector<std::vector<bool>> held(const ArrayData& a, const spmd::Blocks& blocks) {
  std::vector<std::vector<bool>> by_process(
      static_cast<std::size_t>(processes::count()),
      std::vector<bool>(static_cast<std::size_t>(blocks.count())));
  const auto& devices = a.layout->devices();
  for (std::size_t p = 0; p < devices.size(); ++p)
    by_process[static_cast<std::size_t>(a.layout->backend->process_of(devices[p]))]
              [static_cast<std::size_t>(blocks.block_of(static_cast<std::int64_t>(p)))] = true;
  return by_process;
}

}  // namespace

bool is_gathered(const ArrayData& a) {
  if (a.part || processes::count() == 1 || !settings::flag("TESSERA_GATHER_READS")) return false;
  // An uncommitted array on one device exists in each process separately. A committed one is on the
  // device that the program chose.
  if (a.layout->devices().size() == 1) return a.layout->committed;
  const auto by_process = held(a, spmd::Blocks(a.type, *a.layout->mesh, a.layout->spec));
  return std::any_of(by_process.begin(), by_process.end(), [](const std::vector<bool>& blocks) {
    return std::find(blocks.begin(), blocks.end(), false) != blocks.end();
  });
}

BufferPtr gather(const ArrayData& a) {
  const spmd::Blocks blocks(a.type, *a.layout->mesh, a.layout->spec);
  // The first process that holds a block contributes it.
  const auto by_process = held(a, blocks);
  std::vector<std::vector<std::int64_t>> gives(by_process.size());
  for (std::int64_t b = 0; b < blocks.count(); ++b)
    for (std::size_t p = 0; p < by_process.size(); ++p)
      if (by_process[p][static_cast<std::size_t>(b)]) {
        gives[p].push_back(b);
        break;
      }
  std::size_t most = 0;
  for (const auto& given : gives) most = std::max(most, given.size());
  const auto each = static_cast<std::size_t>(blocks.block_bytes());
  std::vector<std::byte> mine(most * each);
  const auto& own = gives[static_cast<std::size_t>(processes::rank())];
  const Type block(a.type.dtype, blocks.block(), a.type.weak);
  for (std::size_t k = 0; k < a.shards.size(); ++k)
    if (const auto at = std::find(own.begin(), own.end(), blocks.block_of(a.layout->place(k)));
        at != own.end() && each)
      if (const auto transfer = a.layout->backend->to_host(
              block, a.shards[k], mine.data() + static_cast<std::size_t>(at - own.begin()) * each))
        transfer->wait();
  const std::vector<std::byte> all = processes::all_gather("host", mine, {});
  BufferPtr whole = Buffer::allocate(static_cast<std::size_t>(a.type.bytes()));
  BoxCopy copy = blocks.gather();
  for (std::size_t p = 0; p < gives.size(); ++p)
    for (std::size_t i = 0; i < gives[p].size(); ++i)
      copy.run(all.data() + (p * most + i) * each,
               whole->host_data() + blocks.offset_of(gives[p][i]));
  return whole;
}

}  // namespace tessera::inline v0::runtime
