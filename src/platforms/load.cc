// Loads platforms for users.
#include "base/message.h"
#include "base/process.h"
#include "base/settings.h"
#include "platforms/backend.h"
#include "platforms/find.h"
#include "runtime/default_device.h"

#include <tessera/platform.h>

#include <cctype>
#include <charconv>
#include <mutex>

namespace tessera::inline v0 {

namespace {

using platforms::FarBackend;

// There is one lock for the process, because it has one list of platforms.
std::mutex& loading() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

FarBackend* loaded(std::string_view name) {
  return dynamic_cast<FarBackend*>(runtime::find_backend(name));
}

void need_name(std::string_view name, const SourceLoc& loc) {
  bool fits = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
  for (const char c : name)
    fits = fits && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  if (fits && name != "cpu") return;
  Message("load_platform")
      .problem(name == "cpu" ? "the platform 'cpu' is always loaded"
                             : "'" + std::string(name) + "' cannot be the name of a platform")
      .rule("a name has letters, digits and underscores, and is not that of another platform")
      .from(loc)
      .advice("load_platform(\"xla_cpu\", path)")
      .raise<DeviceError>();
}

std::string searched_path(std::string_view name, const SourceLoc& loc) {
  const platforms::Search search = platforms::find_plugin(name);
  if (!search.path.empty()) return search.path;
  Message m("load_platform");
  m.problem("there is no plug-in for the platform '" + std::string(name) + "'");
  for (const std::string& place : search.places) m.offender("not in " + place);
  m.rule(search.package.empty()
             ? "of other platforms than cuda, rocm and tpu the path of the plug-in is needed"
             : "the plug-in comes with the Python package " + search.package)
      .from(loc)
      .advice(loc ? "load_platform(\"" + std::string(name) + "\", \"/path/to/plugin.so\")"
                  : "TESSERA_PLATFORM=/path/to/plugin.so")
      .raise<DeviceError>();
}

// The routines that JAX registers for factorisations on CPUs and GPUs are libraries of JAX, which a
// plug-in does not have. XLA for TPUs has its own.
const stablehlo::Target& target_of(const platforms::Client& client) {
  static constexpr stablehlo::Target kWithoutLibraries{.platform = "plug-in"};
  static const stablehlo::Target& tpu = *stablehlo::find_target("tpu");
  return client.platform_name() == "tpu" ? tpu : kWithoutLibraries;
}

std::vector<Device> devices_of(const runtime::Backend& backend) {
  std::vector<Device> all;
  for (int i = 0; i < backend.device_count(); ++i) all.push_back({i, backend.platform()});
  return all;
}

platforms::Options options_of(const PlatformOptions& given) {
  platforms::Options out;
  for (const auto& [name, value] : given)
    out.emplace_back(name,
                     std::visit([](const auto& v) { return platforms::OptionValue(v); }, value));
  return out;
}

// Infers the type of an option's value from its text.
PlatformOptions::mapped_type value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const char* const end = text.data() + text.size();
  std::int64_t number = 0;
  if (const auto r = std::from_chars(text.data(), end, number); r.ptr == end && !text.empty())
    return number;
  float real = 0;
  if (const auto r = std::from_chars(text.data(), end, real); r.ptr == end && !text.empty())
    return real;
  return text;
}

PlatformOptions options_of_environment() {
  PlatformOptions out;
  std::string rest = settings::text("TESSERA_PLATFORM_OPTIONS");
  while (!rest.empty()) {
    const std::string entry = rest.substr(0, rest.find(','));
    rest.erase(0, entry.size() + 1);
    const std::size_t equals = entry.find('=');
    out.emplace(entry.substr(0, equals), value_of(entry.substr(equals + 1)));
  }
  return out;
}

// Loads the plug-in and makes its client.
std::unique_ptr<const platforms::Client> started(const std::string& library,
                                                 const PlatformOptions& options,
                                                 const SourceLoc& loc) {
  Message m("load_platform");
  m.from(loc);
  bool is_loaded = false;  // the library is a plug-in of a version that we speak
  try {
    const platforms::LastWords words(library);
    auto plugin = std::make_unique<const platforms::Plugin>(library);
    is_loaded = true;
    plugin->initialize();
    return std::make_unique<const platforms::Client>(std::move(plugin), options_of(options));
  } catch (const platforms::OtherVersion& failure) {
    m.problem("the plug-in " + library + " cannot be used: " + failure.what())
        .rule("this library speaks the versions " + platforms::Plugin::versions())
        .advice("take a plug-in of another release");
  } catch (const platforms::Failure& failure) {
    const std::string why = platforms::code_name(failure.code) + ": " + failure.what();
    if (!is_loaded)
      m.problem("the plug-in " + library + " cannot be used: " + why)
          .rule("a plug-in is a shared library with PJRT's function GetPjrtApi")
          .advice("check the path, and that the libraries which it needs are found (ldd " +
                  library + ")");
    else if (!options.empty() && failure.code == PJRT_Error_Code_INVALID_ARGUMENT)
      m.problem("the plug-in " + library + " refuses its options: " + why)
          .rule("each plug-in has options of its own, with types of their own")
          .advice("check the names and the types of the options");
    else
      m.problem("the plug-in " + library + " cannot start: " + why)
          .rule("a plug-in needs its driver, and devices that this process may use")
          .advice("check that the vendor's own tool sees the devices (nvidia-smi, rocm-smi)");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& thrown) {
    m.problem("the plug-in " + library + " threw an exception while it began: " + thrown.what())
        .rule("plug-ins report errors through the interface")
        .advice("check the options");
  }
  m.raise<DeviceError>();
}

runtime::Backend& load_named(const std::string& platform) {
  const bool is_path = platform.starts_with('/');
  const std::string name = is_path ? "plugin" : platform;
  load_platform(name, is_path ? platform : "", options_of_environment(), {});
  return *runtime::find_backend(name);
}

}  // namespace

std::vector<Device> load_platform(std::string_view name, std::string_view path,
                                  const PlatformOptions& options, std::source_location loc) {
  need_name(name, loc);
  const std::lock_guard lock(loading());
  if (const FarBackend* has = loaded(name)) {
    if (path.empty() || path == has->client().plugin().path()) return devices_of(*has);
    Message("load_platform")
        .problem("the platform '" + std::string(name) + "' is loaded from " +
                 has->client().plugin().path() + " already")
        .rule("a platform stays loaded until the process ends")
        .from(loc)
        .advice("give the plug-in at " + std::string(path) + " another name")
        .raise<DeviceError>();
  }
  if (runtime::find_backend(name)) need_name("cpu", loc);
  const std::string library = path.empty() ? searched_path(name, loc) : std::string(path);
  std::unique_ptr<const platforms::Client> client = started(library, options, loc);
  if (client->device_count() == 0)
    Message("load_platform")
        .problem("the plug-in " + library + " has no devices")
        .from(loc)
        .advice("check that the machine has one, and that this process may use it")
        .raise<DeviceError>();
  const stablehlo::Target& target = target_of(*client);
  return devices_of(runtime::add_backend(
      std::make_unique<FarBackend>(std::string(name), std::move(client), target)));
}

PlatformInfo platform_info(std::string_view name, std::source_location loc) {
  if (const FarBackend* has = loaded(name))
    return {std::string(name), has->client().plugin().path(), has->client().platform_name(),
            has->client().platform_version(), has->client().kind_of(0)};
  if (runtime::find_backend(name))
    return {std::string(name), "", "cpu", std::string(version()), "cpu"};
  Message("platform_info")
      .problem("there is no platform '" + std::string(name) + "'")
      .from(loc)
      .advice("load_platform(\"" + std::string(name) + "\") first")
      .raise<DeviceError>();
}

}  // namespace tessera::inline v0

// A program that links this component can load platforms before it calls any of these functions,
// and before its own static objects are made, which may hold arrays. Linking it names this symbol
// (src/CMakeLists.txt), which brings this file from the archive.
extern "C" const bool tessera_loads_platforms;
const bool tessera_loads_platforms = true;
namespace {
[[gnu::constructor(150)]] void register_loader() {
  tessera::runtime::set_platform_loader(tessera::load_named);
}
}  // namespace
