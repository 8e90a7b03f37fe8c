#include "codegen/kernel/disk_cache.h"

#include "base/process.h"
#include "base/settings.h"
#include "codegen/kernel/isa.h"
#include "codegen/kernel/jit.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen {

namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'t', 's', 'k', 'e', 'r', 'n', '0', '1'};

struct Header {
  char magic[8];
  std::uint64_t key_bytes, object_bytes, checksum;
};

// The build ID of the binary that contains this function. The ops' emit rules are code, so a
// rebuilt library must not use the kernels of another build.
std::string build_identity() {
  struct Found {
    std::uintptr_t address;
    std::string id;
  } found{reinterpret_cast<std::uintptr_t>(&build_identity), ""};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& f = *static_cast<Found*>(data);
        bool mine = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& h = info->dlpi_phdr[i];
          std::uintptr_t begin = info->dlpi_addr + h.p_vaddr;
          mine |= h.p_type == PT_LOAD && f.address >= begin && f.address < begin + h.p_memsz;
        }
        if (!mine) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& h = info->dlpi_phdr[i];
          if (h.p_type != PT_NOTE) continue;
          const char* p = reinterpret_cast<const char*>(info->dlpi_addr + h.p_vaddr);
          const char* end = p + h.p_memsz;
          while (p + sizeof(ElfW(Nhdr)) <= end) {
            auto* note = reinterpret_cast<const ElfW(Nhdr)*>(p);
            const char* name = p + sizeof *note;
            const char* desc = name + (std::size_t{note->n_namesz} + 3) / 4 * 4;
            if (note->n_type == NT_GNU_BUILD_ID) f.id.assign(desc, note->n_descsz);
            p = desc + (std::size_t{note->n_descsz} + 3) / 4 * 4;
          }
        }
        return 1;
      },
      &found);
  if (!found.id.empty()) return found.id;
  struct stat s {};
  if (::stat("/proc/self/exe", &s) != 0) return "";
  return std::to_string(s.st_size) + ":" + std::to_string(s.st_mtim.tv_sec) + ":" +
         std::to_string(s.st_mtim.tv_nsec);
}

const std::string& environment_identity() {
  static const std::string& id = *new std::string([] {
    const Isa& isa = host_isa();
    return build_identity() + "|" + compiler_version() + "|" + isa.triple + "|" + isa.cpu + "|" +
           isa.features + "|" + std::to_string(isa.vector_bytes);
  }());
  return id;
}

constexpr std::string_view kSuffix = ".tsk", kTemporary = ".tmp";
// Larger than any kernel; a file that declares a larger size is not a kernel.
constexpr std::uint64_t kLargest = std::uint64_t{256} << 20;

std::string path_of(const std::string& directory, const std::string& id) {
  return directory + "/" + id.substr(0, 2) + "/" + id + std::string(kSuffix);
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
// "<32 digits>.tsk", in the folder named after its first two digits.
bool is_kernel_name(std::string_view folder, std::string_view name) {
  return name.size() == 32 + kSuffix.size() && name.ends_with(kSuffix) &&
         is_hex(name.substr(0, 32)) && name.starts_with(folder);
}
// "<32 digits>.tsk.<process>.<number>.tmp"
bool is_temporary_name(std::string_view folder, std::string_view name) {
  const std::size_t kernel = 32 + kSuffix.size();
  return name.size() > kernel + kTemporary.size() && name.ends_with(kTemporary) &&
         is_kernel_name(folder, name.substr(0, kernel)) &&
         name.substr(kernel, name.size() - kernel - kTemporary.size())
                 .find_first_not_of("0123456789.") == std::string_view::npos;
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

  bool read(char* to, std::size_t n) const {
    while (n) {
      const ssize_t got = ::read(fd_, to, n);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      n -= static_cast<std::size_t>(got);
    }
    return true;
  }
  bool write(const char* from, std::size_t n) const {
    while (n) {
      const ssize_t put = ::write(fd_, from, n);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      from += put;
      n -= static_cast<std::size_t>(put);
    }
    return true;
  }

 private:
  int fd_;
};

// Does not follow links and does not block on pipes.
constexpr int kCareful = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Whether only this user can have written the file.
bool is_own_file(const struct stat& s) {
  return S_ISREG(s.st_mode) && s.st_uid == ::geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The kernel in an open file, if the file is complete and its key matches.
std::optional<std::string> kernel_in(const File& file, std::uint64_t size, const std::string& key) {
  Header h;
  if (size > kLargest || !file.read(reinterpret_cast<char*>(&h), sizeof h)) return std::nullopt;
  const bool fits = std::memcmp(h.magic, kMagic, sizeof kMagic) == 0 && h.key_bytes == key.size() &&
                    size >= sizeof h + h.key_bytes &&
                    h.object_bytes == size - sizeof h - h.key_bytes;
  if (!fits) return std::nullopt;
  std::string data(h.key_bytes + h.object_bytes, '\0');
  if (!file.read(data.data(), data.size()) || XXH3_64bits(data.data(), data.size()) != h.checksum ||
      !data.starts_with(key))
    return std::nullopt;
  return data.substr(h.key_bytes);
}

bool starts_as_a_kernel(int folder, const char* name) {
  const File file(::openat(folder, name, O_RDONLY | kCareful));
  char magic[6];  // without the version
  return file && file.read(magic, sizeof magic) && std::memcmp(magic, kMagic, sizeof magic) == 0;
}

// The entries of a folder; empty if it is not one.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = copy >= 0 ? ::fdopendir(copy) : nullptr;
  if (!dir) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* e = ::readdir(dir)) names.emplace_back(e->d_name);
  ::closedir(dir);
  return names;
}

// If the kernels exceed `limit` bytes, removes the least recently used ones until `target` bytes
// remain. Always removes the temporary files of killed writers. Returns the remaining bytes.
std::size_t trim(const std::string& directory, std::size_t limit, std::size_t target) {
  // Writing takes milliseconds, so the writer of an older temporary file was killed.
  constexpr std::int64_t kStale = 600;
  struct Kernel {
    std::string folder, name;
    timespec used;
    std::size_t size;
  };
  std::vector<Kernel> kernels;
  std::size_t total = 0;
  const File root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return 0;
  auto open_folder = [&](const std::string& name) {
    return ::openat(root.fd(), name.c_str(), O_RDONLY | O_DIRECTORY | kCareful);
  };
  for (const std::string& folder : names_in(root.fd())) {
    if (folder.size() != 2 || !is_hex(folder)) continue;
    const File in(open_folder(folder));
    if (!in) continue;
    for (const std::string& name : names_in(in.fd())) {
      const bool temporary = is_temporary_name(folder, name);
      struct stat s {};
      if ((!temporary && !is_kernel_name(folder, name)) ||
          ::fstatat(in.fd(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0 || !is_own_file(s))
        continue;
      if (!temporary) {
        kernels.push_back({folder, name, s.st_mtim, static_cast<std::size_t>(s.st_size)});
        total += kernels.back().size;
      } else if (::time(nullptr) - s.st_mtim.tv_sec > kStale) {
        ::unlinkat(in.fd(), name.c_str(), 0);
      }
    }
  }
  if (total <= limit) return total;
  std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Kernel& k : kernels) {
    if (total <= target) break;
    const File in(open_folder(k.folder));
    if (in && starts_as_a_kernel(in.fd(), k.name.c_str()) &&
        ::unlinkat(in.fd(), k.name.c_str(), 0) == 0)
      total -= k.size;
  }
  return total;
}

// Tracks how much this process knows to be in the directory. Measuring requires a walk over the
// whole directory. A process therefore measures only if its writes since the last measurement could
// have exceeded the limit, or if they reach an eighth of the limit, since other processes write as
// well. It then trims until an eighth is free; otherwise every write to a full cache would cause a
// walk.
class Watch {
 public:
  void wrote(const std::string& directory, const std::string& id, std::size_t bytes) {
    constexpr std::size_t kShares = 8;
    const auto megabytes =
        static_cast<std::size_t>(settings::number("TESSERA_CACHE_MB").value_or(256));
    const std::size_t limit = megabytes << 20, share = limit / kShares;
    {
      Locked lock(mutex_);
      if (directory != directory_ || limit != limit_) {
        directory_ = directory;
        limit_ = limit;
        seen_ = 0;
        written_ = head_start(id, share);
      }
      written_ += bytes;
      if (written_ <= share && seen_ + written_ <= limit) return;
      written_ = 0;
    }
    const std::size_t left = trim(directory, limit, limit - share);
    Locked lock(mutex_);
    if (directory == directory_) seen_ = left;
  }

 private:
  // A process that ends before writing its eighth would never measure. Each process therefore
  // starts at a random point of its eighth, derived from the id of its first kernel, so that many
  // short processes measure as often as one long process.
  static std::size_t head_start(const std::string& id, std::size_t share) {
    std::uint32_t number = 0;
    std::from_chars(id.data(), id.data() + 8, number, 16);
    return static_cast<std::size_t>(static_cast<double>(share) * (number * 0x1p-32));
  }

  std::mutex mutex_;
  std::string directory_;
  std::size_t limit_ = 0, seen_ = 0, written_ = 0;
};

Watch& watch() {
  static auto* w = new Watch;  // never destroyed, because threads may still run at exit
  return *w;
}

}  // namespace

// Relative paths are rejected, because after a change of the working directory they would name
// another folder, with other code.
std::string cache_directory() {
  if (const std::string mode = settings::text("TESSERA_CACHE"); mode == "off" || mode == "0")
    return "";
  if (std::string d = settings::text("TESSERA_CACHE_DIR"); !d.empty()) return d;
  if (std::string d = settings::environment("XDG_CACHE_HOME"); d.starts_with('/'))
    return d + "/tessera";
  if (std::string d = settings::environment("HOME"); d.starts_with('/'))
    return d + "/.cache/tessera";
  return "";
}

std::string cache_id(const std::string& key) {
  XXH3_state_t* s = XXH3_createState();
  XXH3_128bits_reset(s);
  XXH3_128bits_update(s, environment_identity().data(), environment_identity().size());
  XXH3_128bits_update(s, key.data(), key.size());
  XXH128_hash_t h = XXH3_128bits_digest(s);
  XXH3_freeState(s);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(h.high64),
                static_cast<unsigned long long>(h.low64));
  return text;
}

std::optional<std::string> read_cached(const std::string& id, const std::string& key) {
  const std::string directory = cache_directory();
  if (directory.empty()) return std::nullopt;
  const std::string path = path_of(directory, id);
  const File file(::open(path.c_str(), O_RDONLY | kCareful));
  struct stat s {};
  if (!file || ::fstat(file.fd(), &s) != 0 || !is_own_file(s)) return std::nullopt;
  std::optional<std::string> object = kernel_in(file, static_cast<std::uint64_t>(s.st_size), key);
  if (object)
    ::futimens(file.fd(), nullptr);  // mark as most recently used
  else
    ::unlink(path.c_str());
  return object;
}

void write_cached(const std::string& id, const std::string& key, const std::string& object) {
  const std::string directory = cache_directory();
  if (directory.empty()) return;
  const std::string path = path_of(directory, id);
  // Do not replace a file at this path that is not ours.
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0 && !is_own_file(there)) return;
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  static std::atomic<unsigned> counter = 0;
  const std::string temporary = path + "." + std::to_string(::getpid()) + "." +
                                std::to_string(counter++) + std::string(kTemporary);
  File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return;
  Header h;
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.key_bytes = key.size();
  h.object_bytes = object.size();
  const std::string data = key + object;
  h.checksum = XXH3_64bits(data.data(), data.size());
  bool ok = file.write(reinterpret_cast<const char*>(&h), sizeof h) &&
            file.write(data.data(), data.size());
  ok = file.close() && ok;
  if (!ok || ::rename(temporary.c_str(), path.c_str()) != 0) ::unlink(temporary.c_str());
  watch().wrote(directory, id, sizeof h + data.size());
}

void trim_cache(std::size_t bytes) {
  if (const std::string directory = cache_directory(); !directory.empty())
    trim(directory, bytes, bytes);
}

}  // namespace tessera::inline v0::codegen
