#include "processes/plugin.h"

#include "base/settings.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#ifndef TESSERA_PLUGIN_FOLDERS
#define TESSERA_PLUGIN_FOLDERS ""
#endif

namespace tessera::inline v0::processes {
namespace {

constexpr const char* kName = "libtessera_mpi.so";

// The folder of the file that contains this function: the library, or the program, whose path is
// taken from the system and not from argv. Empty if only a relative path is known, because that
// becomes invalid when the working directory changes.
std::filesystem::path own_folder() {
  Dl_info here{};
  link_map* file = nullptr;
  if (!::dladdr1(reinterpret_cast<const void*>(&open_plugin), &here,
                 reinterpret_cast<void**>(&file), RTLD_DL_LINKMAP) ||
      !file)
    return {};
  std::error_code none;
  std::filesystem::path path = *file->l_name
                                   ? std::filesystem::path(file->l_name)
                                   : std::filesystem::read_symlink("/proc/self/exe", none);
  // A user can link a setuid program into a folder of their own, so the folder of such a program is
  // not trusted.
  if (!*file->l_name && ::getauxval(AT_SECURE)) return {};
  return path.is_absolute() ? path.parent_path() : std::filesystem::path();
}

// Candidate paths, all absolute: beside the library (or the program that contains it), then where
// plug-ins were built or installed.
std::vector<std::filesystem::path> places() {
  if (const std::string given = settings::text("TESSERA_TRANSPORT"); !given.empty()) return {given};
  std::vector<std::filesystem::path> all;
  if (const std::filesystem::path own = own_folder(); !own.empty()) all.push_back(own / kName);
  const std::string folders = TESSERA_PLUGIN_FOLDERS;
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    std::filesystem::path folder(folders.substr(begin, end - begin));
    if (folder.is_absolute()) all.push_back(std::move(folder) / kName);
    begin = end + 1;
  }
  return all;
}

}  // namespace

void open_plugin(TesseraTransport& out, const SourceLoc& loc) {
  void* library = nullptr;
  Message nowhere("initialize");
  for (const std::filesystem::path& path : places()) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      nowhere.offender(path.string() + ": there is no such file");
      continue;
    }
    // RTLD_GLOBAL, because Open MPI's own plug-ins look up its symbols globally.
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library) break;
    nowhere.offender(::dlerror());
  }
  if (!library)
    nowhere.problem("a launcher started this process with others, and nothing here joins them")
        .from(loc)
        .rule(
            "processes are joined by the plug-in libtessera_mpi.so, which is built where MPI is "
            "installed")
        .advice("install libopenmpi-dev and build again, or set TESSERA_TRANSPORT to the plug-in")
        .raise<Error>();
  // From here on, messages omit the failed candidates.
  Message m("initialize");
  m.from(loc);
  const auto open =
      reinterpret_cast<TesseraOpenTransport>(::dlsym(library, "tessera_open_transport"));
  if (!open)
    m.problem("what TESSERA_TRANSPORT names is no plug-in of Tessera's")
        .rule("a plug-in has the function tessera_open_transport")
        .advice("leave TESSERA_TRANSPORT out")
        .raise<Error>();
  if (open(&out) != 0)
    m.problem(out.error)
        .rule("the plug-in joins the processes that the launcher started")
        .advice("look at what the launcher says")
        .raise<Error>();
  if (out.version != TESSERA_TRANSPORT_VERSION)
    m.problem("the plug-in is of version " + std::to_string(out.version))
        .rule("this library takes version " + std::to_string(TESSERA_TRANSPORT_VERSION))
        .advice("build library and plug-in from one source")
        .raise<Error>();
}

}  // namespace tessera::inline v0::processes
