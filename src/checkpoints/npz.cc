#include <tessera/detail/input_file.h>
#include <tessera/detail/replace_file.h>
#include <tessera/npz.h>

#include "checkpoints/npy_format.h"

#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <vector>

namespace tessera::inline v0 {

namespace {

using npy_format::Complaint;

constexpr std::string_view kSuffix = ".npy";
// The highest expansion that deflate can reach: 258 bytes from two bits. A member that claims more
// is damaged, or crafted to exhaust memory.
constexpr std::uint64_t kRatio = 1032;

struct Discard {
  void operator()(zip_t* z) const { zip_discard(z); }
  void operator()(zip_file_t* f) const { zip_fclose(f); }
  void operator()(zip_source_t* s) const { zip_source_free(s); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Member = std::unique_ptr<zip_file_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

std::string reason(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

[[noreturn]] void refuse(int code, const Complaint& complaint) {
  complaint.fail(
      code == ZIP_ER_NOZIP ? "it is no .npz file" : "its archive is damaged (" + reason(code) + ")",
      "write it again with numpy.savez");
}
Archive open(const detail::InputFile& in, const Complaint& complaint) {
  // The archive closes the descriptor, so give it a duplicate.
  const int own = ::dup(in.descriptor());
  int code = ZIP_ER_OPEN;
  Archive archive(own >= 0 ? zip_fdopen(own, ZIP_CHECKCONS, &code) : nullptr);
  if (archive) return archive;
  if (own >= 0) ::close(own);
  refuse(code, complaint);
}
Archive open(std::span<const std::byte> bytes, const Complaint& complaint) {
  if (bytes.empty()) refuse(ZIP_ER_NOZIP, complaint);  // libzip would create an archive
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error));
  Archive archive(source ? zip_open_from_source(source.get(), ZIP_RDONLY | ZIP_CHECKCONS, &error)
                         : nullptr);
  const int code = zip_error_code_zip(&error);
  zip_error_fini(&error);
  if (!archive) refuse(code, complaint);
  (void)source.release();  // owned by the archive
  return archive;
}

Array read_member(zip_t* archive, std::uint64_t index, const zip_stat_t& about,
                  const Complaint& complaint) {
  const std::string again = "write the file again with numpy.savez";
  constexpr auto kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((about.valid & kNeeded) != kNeeded)
    complaint.fail("its size is not known before it is read", again);
  if ((about.valid & ZIP_STAT_ENCRYPTION_METHOD) && about.encryption_method != ZIP_EM_NONE)
    complaint.fail("it is encrypted", "decrypt the archive first");
  if (about.comp_method != ZIP_CM_STORE && about.comp_method != ZIP_CM_DEFLATE)
    complaint.fail("its compression is of kind " + std::to_string(about.comp_method) +
                       ", and stored and deflated members are read",
                   again);
  if (about.size / kRatio > about.comp_size)
    complaint.fail(std::to_string(about.comp_size) + " bytes cannot expand to " +
                       std::to_string(about.size) + ": deflate gives " + std::to_string(kRatio) +
                       " for one at most",
                   again);
  Member member(zip_fopen_index(archive, index, 0));
  if (!member)
    complaint.fail(std::string("it cannot be read (") + zip_strerror(archive) + ")", again);
  std::string damage;
  const auto read = [&](void* to, std::size_t n) {
    auto* at = static_cast<char*>(to);
    while (n > 0) {
      const zip_int64_t got = zip_fread(member.get(), at, std::min(n, std::size_t{1} << 30));
      if (got < 0) damage = zip_file_strerror(member.get());
      if (got <= 0) return false;
      at += got;
      n -= static_cast<std::size_t>(got);
    }
    return true;
  };
  Array x;
  try {
    x = npy_format::read_npy({about.size, read}, complaint);
  } catch (const IoError&) {
    // The content may fail to parse because the compressed bytes are damaged; report the damage
    // then.
    if (!damage.empty()) complaint.fail("it is damaged (" + damage + ")", again);
    throw;
  }
  // libzip compares the checksum when the end of the member is read.
  char beyond = 0;
  if (zip_fread(member.get(), &beyond, 1) != 0)
    complaint.fail(std::string("it is damaged (") + zip_file_strerror(member.get()) + ")", again);
  return x;
}

// Reads all members of an archive of `size` bytes.
std::map<std::string, Array> members_of(const Archive& archive, std::uint64_t size,
                                        const Complaint& complaint) {
  std::map<std::string, Array> arrays;
  std::uint64_t claimed = 0;  // over all members, which may share bytes
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    zip_stat_t about;
    if (zip_stat_index(archive.get(), index, 0, &about) != 0 || !(about.valid & ZIP_STAT_NAME))
      complaint.fail("its member " + std::to_string(i) + " has no entry",
                     "write it again with numpy.savez");
    std::string name = about.name;
    const Complaint here = complaint.about(name);
    if (!name.ends_with(kSuffix))
      here.fail("it is no array: those have names that end in '.npy'",
                "take it out of the archive");
    name.resize(name.size() - kSuffix.size());
    claimed += std::min(about.size, ~std::uint64_t{0} - claimed);
    if (claimed / kRatio > size)
      here.fail("with it the members claim to be " + std::to_string(claimed) +
                    " bytes, and the file of " + std::to_string(size) + " cannot hold them",
                "write the file again with numpy.savez");
    if (claimed > detail::machine_memory())
      here.fail("with it the members take " + std::to_string(claimed) +
                    " bytes, but this machine has " + std::to_string(detail::machine_memory()) +
                    " of memory",
                "load it on a larger machine, or split the file");
    arrays.emplace(name, read_member(archive.get(), index, about, here));
  }
  return arrays;
}

}  // namespace

std::map<std::string, Array> load_npz(const std::string& path, std::source_location loc) {
  const Complaint complaint("load_npz", path, loc);
  detail::InputFile in(path);
  if (!in.problem().empty()) complaint.fail(in.problem(), in.advice());
  return members_of(open(in, complaint), in.size(), complaint);
}
std::map<std::string, Array> load_npz(std::span<const std::byte> bytes, std::source_location loc) {
  const Complaint complaint("load_npz", npy_format::kMemory, loc);
  return members_of(open(bytes, complaint), bytes.size(), complaint);
}

void save_npz(const std::string& path, const std::map<std::string, Array>& arrays,
              const NpzOptions& options, std::source_location loc) {
  const Complaint complaint("save_npz", path, loc);
  zip_error_t error;
  zip_error_init(&error);
  Source memory(zip_source_buffer_create(nullptr, 0, 0, &error));
  Archive archive(memory ? zip_open_from_source(memory.get(), ZIP_TRUNCATE, &error) : nullptr);
  const auto failed = [&](const std::string& why) {
    complaint.fail("the archive cannot be put together: " + why, "write fewer or smaller arrays");
  };
  if (!archive) failed(zip_error_strerror(&error));
  zip_source_keep(memory.get());     // the archive takes one reference
  std::vector<std::string> members;  // the archive reads them when it is closed
  members.reserve(arrays.size());
  for (const auto& [name, x] : arrays) {
    const Complaint here = complaint.about(name);
    if (name.empty() || name.find('\0') != name.npos || name.ends_with(kSuffix))
      here.fail("its name cannot be that of a member",
                "names are not empty, hold no zero byte and do not end in '.npy'");
    const std::string_view elements = npy_format::npy_elements(x, loc);
    std::string& bytes = members.emplace_back(npy_format::npy_front(x, here, loc));
    bytes += elements;
    zip_source_t* source = zip_source_buffer(archive.get(), bytes.data(), bytes.size(), 0);
    const zip_int64_t index =
        source ? zip_file_add(archive.get(), (name + std::string(kSuffix)).c_str(), source,
                              ZIP_FL_ENC_UTF_8)
               : -1;
    if (index < 0) {
      if (source) zip_source_free(source);
      failed(zip_strerror(archive.get()));
    }
    const auto at = static_cast<std::uint64_t>(index);
    // The same timestamp for all members (the earliest in the format), so that equal arrays give
    // equal bytes.
    if (zip_file_set_dostime(archive.get(), at, 0, (1 << 5) | 1, 0) != 0 ||
        zip_set_file_compression(archive.get(), at,
                                 options.compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) != 0)
      failed(zip_strerror(archive.get()));
  }
  if (zip_close(archive.get()) != 0) failed(zip_strerror(archive.get()));
  (void)archive.release();  // freed by zip_close
  // libzip writes nothing if there are no members, so an empty central directory is written here.
  std::string whole = arrays.empty() ? "PK\5\6" + std::string(18, '\0') : "";
  if (!arrays.empty() && zip_source_open(memory.get()) == 0) {
    zip_stat_t about;
    zip_stat_init(&about);
    if (zip_source_stat(memory.get(), &about) == 0 && (about.valid & ZIP_STAT_SIZE))
      whole.resize(static_cast<std::size_t>(about.size));
    const zip_int64_t got = zip_source_read(memory.get(), whole.data(), whole.size());
    zip_source_close(memory.get());
    if (got < 0 || static_cast<std::size_t>(got) != whole.size()) whole.clear();
  }
  if (whole.empty()) failed("its bytes cannot be read back");
  const std::string_view parts[] = {whole};
  const std::string why = detail::replace_file(path, parts);
  if (!why.empty())
    complaint.fail("it cannot be written: " + why,
                   "check that its folder is writable, and the space that is left on the disk");
}

}  // namespace tessera::inline v0
