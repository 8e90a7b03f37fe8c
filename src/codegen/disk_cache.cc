#include "codegen/disk_cache.h"

#include "codegen/isa.h"
#include "codegen/jit.h"

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>
#include <xxhash.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace tessera::inline v0::codegen {

namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'t', 's', 'k', 'e', 'r', 'n', '0', '1'};

struct Header {
  char magic[8];
  std::uint64_t key_bytes, object_bytes, checksum;
};

std::string env(const char* name) {
  const char* v = std::getenv(name);
  return v ? v : "";
}

// The linker's identification of the binary that this function is part of; the rules of the ops are
// code, so a rebuilt library must not take the kernels of another.
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
    return build_identity() + "|" + llvm_version() + "|" + isa.triple + "|" + isa.cpu + "|" +
           isa.features + "|" + std::to_string(isa.vector_bytes);
  }());
  return id;
}

std::string path_of(const std::string& directory, const std::string& id) {
  return directory + "/" + id.substr(0, 2) + "/" + id + ".tsk";
}

bool read_all(int fd, char* to, std::size_t n) {
  while (n) {
    ssize_t got = ::read(fd, to, n);
    if (got <= 0) return false;
    to += got;
    n -= static_cast<std::size_t>(got);
  }
  return true;
}
bool write_all(int fd, const char* from, std::size_t n) {
  while (n) {
    ssize_t put = ::write(fd, from, n);
    if (put <= 0) return false;
    from += put;
    n -= static_cast<std::size_t>(put);
  }
  return true;
}

}  // namespace

std::string cache_directory() {
  if (std::string mode = env("TESSERA_CACHE"); mode == "off" || mode == "0") return "";
  if (std::string d = env("TESSERA_CACHE_DIR"); !d.empty()) return d;
  if (std::string d = env("XDG_CACHE_HOME"); !d.empty()) return d + "/tessera";
  if (std::string d = env("HOME"); !d.empty()) return d + "/.cache/tessera";
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
  std::string directory = cache_directory();
  if (directory.empty()) return std::nullopt;
  std::string path = path_of(directory, id);
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> object;
  struct stat s {};
  Header h;
  if (::fstat(fd, &s) == 0 && s.st_uid == ::geteuid() && S_ISREG(s.st_mode) &&
      read_all(fd, reinterpret_cast<char*>(&h), sizeof h)) {
    auto size = static_cast<std::uint64_t>(s.st_size);
    bool fits = std::memcmp(h.magic, kMagic, sizeof kMagic) == 0 && h.key_bytes == key.size() &&
                size >= sizeof h + h.key_bytes && h.object_bytes == size - sizeof h - h.key_bytes;
    if (fits) {
      std::string data(h.key_bytes + h.object_bytes, '\0');
      if (read_all(fd, data.data(), data.size()) &&
          XXH3_64bits(data.data(), data.size()) == h.checksum && data.starts_with(key))
        object = data.substr(h.key_bytes);
    }
  }
  ::close(fd);
  if (object)
    ::utime(path.c_str(), nullptr);  // most recently used
  else
    ::unlink(path.c_str());
  return object;
}

void write_cached(const std::string& id, const std::string& key, const std::string& object) {
  std::string directory = cache_directory();
  if (directory.empty()) return;
  std::string path = path_of(directory, id);
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  static std::atomic<unsigned> counter = 0;
  std::string temporary =
      path + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".tmp";
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  Header h;
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.key_bytes = key.size();
  h.object_bytes = object.size();
  std::string data = key + object;
  h.checksum = XXH3_64bits(data.data(), data.size());
  bool ok = write_all(fd, reinterpret_cast<const char*>(&h), sizeof h) &&
            write_all(fd, data.data(), data.size());
  ok &= ::close(fd) == 0;
  if (!ok || ::rename(temporary.c_str(), path.c_str()) != 0) ::unlink(temporary.c_str());
  static std::atomic<std::size_t> since_trim = std::size_t{1} << 22;
  if ((since_trim += data.size()) > std::size_t{4} << 20) {
    since_trim = 0;
    std::string limit = env("TESSERA_CACHE_MB");
    std::size_t megabytes = limit.empty() ? 256 : std::strtoull(limit.c_str(), nullptr, 10);
    trim_cache(megabytes << 20);
  }
}

void trim_cache(std::size_t bytes) {
  std::string directory = cache_directory();
  if (directory.empty()) return;
  struct File {
    std::string path;
    std::int64_t used;
    std::size_t size;
  };
  std::vector<File> files;
  std::size_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const fs::path& p = it->path();
    struct stat s {};
    if ((p.extension() != ".tsk" && p.extension() != ".tmp") || ::lstat(p.c_str(), &s) != 0 ||
        !S_ISREG(s.st_mode))
      continue;
    files.push_back({p.string(), s.st_mtim.tv_sec, static_cast<std::size_t>(s.st_size)});
    total += files.back().size;
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& f : files) {
    if (total <= bytes) break;
    if (::unlink(f.path.c_str()) == 0) total -= f.size;
  }
}

}  // namespace tessera::inline v0::codegen
