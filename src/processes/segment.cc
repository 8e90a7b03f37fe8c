#include "processes/segment.h"

#include "base/message.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace tessera::inline v0::processes {

Segment::Segment(std::size_t size) {
  static std::atomic<std::uint32_t> generations{0};
  const std::size_t bytes = 2 * size;
  const int descriptor = ::memfd_create("tessera", MFD_CLOEXEC);
  void* base = MAP_FAILED;
  if (descriptor >= 0 && ::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0)
    base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base == MAP_FAILED) {
    const std::string why = std::strerror(errno);
    if (descriptor >= 0) ::close(descriptor);
    Message("collectives between processes")
        .problem(std::to_string(bytes) + " bytes that processes share could not be had: " + why)
        .rule("a process lays out what others of its machine read in memory that they see")
        .advice("raise the limits of open files and of memory")
        .raise<CollectiveError>();
  }
  base_ = static_cast<std::byte*>(base);
  place_ = {descriptor, ++generations, size};
}
Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }
Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(place_, other.place_);
  std::swap(most_, other.most_);
  std::swap(rounds_, other.rounds_);
  return *this;
}
Segment::~Segment() {
  if (!base_) return;
  ::munmap(base_, 2 * size());
  ::close(place_.descriptor);
}

std::size_t Segment::fit(std::size_t bytes) {
  // Resizing makes readers map the segment again and touches new pages, so it must be rare.
  constexpr int kRounds = 4096;
  constexpr std::size_t kSmall = std::size_t{1} << 20, kFar = 4;
  const auto power = [](std::size_t n) {
    std::size_t size = kLeast;
    while (size < n) size *= 2;
    return size;
  };
  most_ = std::max(most_, bytes);
  if (bytes > size()) return power(bytes);
  if (++rounds_ < kRounds) return size();
  const std::size_t least = power(std::exchange(most_, 0));
  rounds_ = 0;
  return size() > kSmall && size() >= kFar * least ? least : size();
}

SegmentView::SegmentView(SegmentView&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      generation_(std::exchange(other.generation_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}
SegmentView::~SegmentView() { close(); }

void SegmentView::close() {
  if (base_) ::munmap(const_cast<std::byte*>(base_), bytes_);
  base_ = nullptr;
  generation_ = 0;
}

const std::byte* SegmentView::at(std::int32_t pid, const SegmentPlace& place, std::size_t half) {
  if (generation_ != place.generation) {
    close();
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, place.descriptor);
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return nullptr;
    const auto bytes = static_cast<std::size_t>(2 * place.size);
    void* base = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    ::close(descriptor);
    if (base == MAP_FAILED) return nullptr;
    base_ = static_cast<const std::byte*>(base);
    bytes_ = bytes;
    generation_ = place.generation;
  }
  return base_ + half * static_cast<std::size_t>(place.size);
}

}  // namespace tessera::inline v0::processes
