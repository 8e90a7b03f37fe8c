// The process in which cells run. The kernel sends the paths of shared objects; each is loaded, and
// its function called. Both directions have a pipe of their own, so that the cell's output may hold
// anything.
#include "runner.h"

#include "notebook.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace {

volatile std::sig_atomic_t interrupts = 0;
int from_kernel = -1, to_kernel = -1;

/// Reads a character that the kernel sends. Without a kernel the process ends, without the
/// destructors of the cells' variables and threads, which may refer to each other in any order.
char read_one() {
  for (char c;;) {
    const ssize_t n = ::read(from_kernel, &c, 1);
    if (n == 1) return c;
    if (n < 0 && errno == EINTR) continue;
    std::_Exit(0);
  }
}

void write_all(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(to_kernel, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) std::_Exit(1);  // the kernel is gone
    done += static_cast<std::size_t>(n);
  }
}

void run(void (*cell)()) {
  using tessera_notebook::send;
  interrupts = 0;
  try {
    cell();
    send('F', {});
  } catch (const tessera_notebook::Interrupted&) {
    send('I', {});
  } catch (const std::exception& e) {
    send('E', {tessera_notebook::shown_name(typeid(e)), e.what()});
  } catch (const std::string& text) {
    send('E', {"std::string", text});
  } catch (const char* text) {
    send('E', {"const char*", text});
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    send('E',
         {type ? tessera_notebook::shown_name(*type) : "unknown", "an exception that has no text"});
  }
}

void load(const std::string& path) {
  using tessera_notebook::send;
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!object) return send('L', {::dlerror()});
  auto cell = reinterpret_cast<void (*)()>(::dlsym(object, "tessera_notebook_cell"));
  if (!cell) return send('L', {::dlerror()});
  run(cell);
}

}  // namespace

namespace tessera_notebook {

void send(char kind, const std::initializer_list<std::string>& texts) {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  std::string message(1, kind);
  const auto number = [&](std::size_t n) {
    for (int k = 0; k < 4; ++k) message += static_cast<char>(n >> (8 * k) & 255);
  };
  number(texts.size());
  for (const std::string& text : texts) {
    number(text.size());
    message += text;
  }
  write_all(message);
  // The kernel has taken what was printed before a picture when it answers; what is printed behind
  // it comes later.
  if (kind == 'D' || kind == 'R') read_one();
}

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string s = status == 0 ? text : type.name();
  std::free(text);
  return s;
}

std::string shown_name(const std::type_info& type) {
  std::string s = type_name(type);
  const std::string string = type_name(typeid(std::string));
  for (std::size_t at; (at = s.find(string)) != std::string::npos;)
    s.replace(at, string.size(), "std::string");
  for (const char* part : {"v0::", "notebook::"})
    for (std::size_t at; (at = s.find(part)) != std::string::npos;) s.erase(at, std::strlen(part));
  for (std::size_t at; (at = s.find("stage_")) != std::string::npos;)
    s.erase(at, s.find("::", at) + 2 - at);
  return s;
}

void check() {
  if (interrupts > 0) {
    interrupts = 0;
    throw Interrupted{};
  }
}

void defined(const char* variable, const std::string& type) { send('V', {variable, type}); }

}  // namespace tessera_notebook

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  from_kernel = std::atoi(argv[1]);
  to_kernel = std::atoi(argv[2]);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  struct sigaction stop {};
  stop.sa_handler = [](int) { interrupts = interrupts + 1; };
  ::sigaction(SIGINT, &stop, nullptr);
  for (std::string line;;) {
    const char c = read_one();
    if (c != '\n') {
      line += c;
      continue;
    }
    load(line);
    line.clear();
  }
}
