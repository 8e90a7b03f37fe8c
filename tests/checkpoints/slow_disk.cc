// A slow disk for tests: a file system that shows a folder, in which operations that write to the
// disk wait until they are let through.
//
//   slow_disk FOLDER MOUNTPOINT
//
// It prints "mounted", then carries out the lines of its input, and answers each with one line:
//
//   hold         writes, fsyncs and renames wait from now on
//   hold opens   opening a file waits from now on
//   await TEXT   "17 fsync run/7/manifest.json": the first waiting operation that contains TEXT,
//                as soon as there is one
//   do 17        carries it out
//   fail 17 5    does not carry it out; the program gets errno 5
//   break 28     all operations fail so, waiting ones and later ones
//   open         carries out all operations, waiting ones and later ones
//
// There is one thread, and a waiting operation is one that has not been answered, so nothing here
// depends on time. The program ends when its input ends, and nothing stays mounted, whatever became
// of the test.
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

void answer(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// ---- Waiting requests.

struct Waiting {
  fuse_req_t request;
  std::string what;
  std::function<void()> go;  // carries it out, and answers the request
};
std::map<std::uint64_t, Waiting> waiting;  // by number, in order of arrival
std::uint64_t last_number = 0;
bool held = false, opens_held = false;
int broken = 0;  // an errno
std::optional<std::string> awaited;

void tell_who_awaits() {
  if (!awaited) return;
  for (const auto& [number, w] : waiting)
    if (w.what.find(*awaited) != std::string::npos) {
      awaited.reset();
      return answer(std::to_string(number) + " " + w.what);
    }
}

void at_the_gate(fuse_req_t request, bool waits, std::string what, std::function<void()> go) {
  if (broken) {
    fuse_reply_err(request, broken);
  } else if (waits) {
    waiting[++last_number] = {request, std::move(what), std::move(go)};
    tell_who_awaits();
  } else {
    go();
  }
}

void fail_all(int error) {
  for (const auto& [number, w] : std::exchange(waiting, {})) fuse_reply_err(w.request, error);
}

void obey(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word == "await") {
    awaited = line.size() > 6 ? line.substr(6) : "";
    return tell_who_awaits();
  }
  std::uint64_t number = 0;
  int error = 0;
  if (word == "hold") {
    (words >> word && word == "opens" ? opens_held : held) = true;
  } else if (word == "open") {
    held = opens_held = false;
    broken = 0;
    for (const auto& [n, w] : std::exchange(waiting, {})) w.go();
  } else if (word == "break" && words >> error) {
    broken = error;
    fail_all(error);
  } else if ((word == "do" || word == "fail") && words >> number && waiting.count(number)) {
    const Waiting w = std::move(waiting.extract(number).mapped());
    if (word == "do")
      w.go();
    else
      fuse_reply_err(w.request, words >> error ? error : EIO);
  } else {
    return answer("not understood: " + line);
  }
  answer("done");
}

// ---- Nodes: files of the folder, each by a descriptor, which a rename does not change.

struct Node {
  int fd = -1;  // O_PATH
  std::pair<dev_t, ino_t> file;
  std::uint64_t lookups = 0;
};
std::map<fuse_ino_t, Node> nodes;
std::map<std::pair<dev_t, ino_t>, fuse_ino_t> numbers;  // one file is one node: locks are a node's
fuse_ino_t last_node = FUSE_ROOT_ID;
std::string root;

int fd_of(fuse_ino_t node) { return nodes.at(node).fd; }
std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }
int open_again(fuse_ino_t node, int flags) {
  return ::open(path_of(fd_of(node)).c_str(), (flags & ~O_NOFOLLOW) | O_CLOEXEC);
}
// Its current name, such as "run/7/manifest.json"; "" is the mount point.
std::string name_of(int fd) {
  std::error_code ec;
  const std::string path = fs::read_symlink(path_of(fd), ec);
  return path.size() > root.size() ? path.substr(root.size() + 1) : "";
}
std::string name_of(int folder, const std::string& name) {
  const std::string in = name_of(folder);
  return in.empty() ? name : in + "/" + name;
}

void add_root(int fd) {
  struct stat s {};
  ::fstat(fd, &s);
  const std::pair file(s.st_dev, s.st_ino);
  nodes[FUSE_ROOT_ID] = {fd, file, 1};
  numbers[file] = FUSE_ROOT_ID;
}
// Returns an errno, or 0. Nothing is cached, so every lookup comes here.
int look_up(fuse_ino_t parent, const char* name, fuse_entry_param& out) {
  out = {};
  const int fd = ::openat(fd_of(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno;
  ::fstat(fd, &out.attr);
  const std::pair file(out.attr.st_dev, out.attr.st_ino);
  const auto [at, is_new] = numbers.try_emplace(file, last_node + 1);
  if (is_new)
    nodes[++last_node] = {fd, file, 0};
  else
    ::close(fd);
  out.ino = at->second;
  ++nodes.at(out.ino).lookups;
  return 0;
}

// ---- The operations. Each answers its request, immediately or later.

void reply_status(fuse_req_t request, int result) { fuse_reply_err(request, result ? errno : 0); }
void reply_entry(fuse_req_t request, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry;
  if (const int error = look_up(parent, name, entry))
    fuse_reply_err(request, error);
  else
    fuse_reply_entry(request, &entry);
}
void reply_attributes(fuse_req_t request, fuse_ino_t node) {
  struct stat s {};
  if (::fstat(fd_of(node), &s) != 0)
    fuse_reply_err(request, errno);
  else
    fuse_reply_attr(request, &s, 0);
}

void forget(fuse_req_t request, fuse_ino_t node, std::uint64_t count) {
  Node& n = nodes.at(node);
  if (node != FUSE_ROOT_ID && (n.lookups -= count) == 0) {
    ::close(n.fd);
    numbers.erase(n.file);
    nodes.erase(node);
  }
  fuse_reply_none(request);
}

void set_attributes(fuse_req_t request, fuse_ino_t node, struct stat* to, int which,
                    fuse_file_info*) {
  const std::string path = path_of(fd_of(node));
  if ((which & FUSE_SET_ATTR_SIZE) && ::truncate(path.c_str(), to->st_size) != 0)
    return reply_status(request, -1);
  if ((which & FUSE_SET_ATTR_MODE) && ::chmod(path.c_str(), to->st_mode) != 0)
    return reply_status(request, -1);
  reply_attributes(request, node);
}

void make_folder(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  if (::mkdirat(fd_of(parent), name, mode) != 0) return reply_status(request, -1);
  reply_entry(request, parent, name);
}

void create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* file) {
  const int fd =
      ::openat(fd_of(parent), name, (file->flags | O_CREAT | O_CLOEXEC) & ~O_NOFOLLOW, mode);
  if (fd < 0) return reply_status(request, -1);
  fuse_entry_param entry;
  if (const int error = look_up(parent, name, entry)) {
    ::close(fd);
    fuse_reply_err(request, error);
    return;
  }
  file->fh = static_cast<std::uint64_t>(fd);
  fuse_reply_create(request, &entry, file);
}

void open_file(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  const fuse_file_info how = *file;
  at_the_gate(request, opens_held, "open " + name_of(fd_of(node)), [=] {
    const int fd = open_again(node, how.flags);
    if (fd < 0) return reply_status(request, -1);
    fuse_file_info opened = how;
    opened.fh = static_cast<std::uint64_t>(fd);
    fuse_reply_open(request, &opened);
  });
}

void read_file(fuse_req_t request, fuse_ino_t, std::size_t size, off_t at, fuse_file_info* file) {
  std::vector<char> bytes(size);
  const ssize_t n = ::pread(static_cast<int>(file->fh), bytes.data(), size, at);
  if (n < 0) return reply_status(request, -1);
  fuse_reply_buf(request, bytes.data(), static_cast<std::size_t>(n));
}

void write_file(fuse_req_t request, fuse_ino_t, const char* from, std::size_t size, off_t at,
                fuse_file_info* file) {
  const int fd = static_cast<int>(file->fh);
  const std::string bytes(from, size);
  at_the_gate(request, held, "write " + name_of(fd), [=] {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (n < 0) return reply_status(request, -1);
    fuse_reply_write(request, static_cast<std::size_t>(n));
  });
}

void sync_file(fuse_req_t request, fuse_ino_t, int, fuse_file_info* file) {
  const int fd = static_cast<int>(file->fh);
  at_the_gate(request, held, "fsync " + name_of(fd), [=] { reply_status(request, ::fsync(fd)); });
}

void close_file(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  reply_status(request, ::close(static_cast<int>(file->fh)));
}

void sync_folder(fuse_req_t request, fuse_ino_t node, int, fuse_file_info*) {
  at_the_gate(request, held, "fsync " + name_of(fd_of(node)) + "/", [=] {
    const int fd = open_again(node, O_RDONLY | O_DIRECTORY);
    const int error = fd < 0 || ::fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) ::close(fd);
    fuse_reply_err(request, error);
  });
}

void move(fuse_req_t request, fuse_ino_t from_folder, const char* from_name, fuse_ino_t to_folder,
          const char* to_name, unsigned flags) {
  const std::string from = from_name, to = to_name;
  const int in = fd_of(from_folder), out = fd_of(to_folder);
  at_the_gate(request, held, "rename " + name_of(in, from) + " " + name_of(out, to), [=] {
    reply_status(request, ::renameat2(in, from.c_str(), out, to.c_str(), flags));
  });
}

void remove_file(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply_status(request, ::unlinkat(fd_of(parent), name, 0));
}
void remove_folder(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply_status(request, ::unlinkat(fd_of(parent), name, AT_REMOVEDIR));
}

// The entries of a folder at the time when it was opened for reading.
struct Entry {
  std::string name;
  struct stat kind;
};
std::map<std::uint64_t, std::vector<Entry>> listings;
std::uint64_t last_listing = 0;

void open_folder(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  file->fh = ++last_listing;
  fuse_reply_open(request, file);
}
void read_folder(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t at,
                 fuse_file_info* file) {
  std::vector<Entry>& entries = listings[file->fh];
  if (at == 0) {
    entries.clear();
    DIR* folder = ::fdopendir(open_again(node, O_RDONLY | O_DIRECTORY));
    if (!folder) return reply_status(request, -1);
    while (const dirent* e = ::readdir(folder)) {
      struct stat kind {};
      kind.st_ino = e->d_ino;
      kind.st_mode = DTTOIF(e->d_type);
      entries.push_back({e->d_name, kind});
    }
    ::closedir(folder);
  }
  std::vector<char> out(size);
  std::size_t used = 0;
  for (auto i = static_cast<std::size_t>(at); i < entries.size(); ++i) {
    const std::size_t n =
        fuse_add_direntry(request, out.data() + used, size - used, entries[i].name.c_str(),
                          &entries[i].kind, static_cast<off_t>(i + 1));
    if (n > size - used) break;
    used += n;
  }
  fuse_reply_buf(request, out.data(), used);
}
void close_folder(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  listings.erase(file->fh);
  fuse_reply_err(request, 0);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops all{};
  all.lookup = reply_entry;
  all.forget = forget;
  all.getattr = [](fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
    reply_attributes(request, node);
  };
  all.setattr = set_attributes;
  all.mkdir = make_folder;
  all.unlink = remove_file;
  all.rmdir = remove_folder;
  all.rename = move;
  all.create = create;
  all.open = open_file;
  all.read = read_file;
  all.write = write_file;
  all.fsync = sync_file;
  all.release = close_file;
  all.opendir = open_folder;
  all.readdir = read_folder;
  all.fsyncdir = sync_folder;
  all.releasedir = close_folder;
  return all;
}

// ---- The loop.

std::string logged;
void keep(fuse_log_level, const char* format, std::va_list values) {
  char text[512];
  std::vsnprintf(text, sizeof text, format, values);
  logged = text;
  std::erase(logged, '\n');
}

// Returns false at the end of the input.
bool read_lines(std::string& part) {
  char buffer[4096];
  const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
  if (n <= 0) return n < 0 && errno == EINTR;
  part.append(buffer, static_cast<std::size_t>(n));
  for (std::size_t end; (end = part.find('\n')) != std::string::npos; part.erase(0, end + 1))
    obey(part.substr(0, end));
  return true;
}

void serve(fuse_session* session) {
  const int device = fuse_session_fd(session);
  // A request may disappear before it is read, if its process is killed.
  ::fcntl(device, F_SETFL, ::fcntl(device, F_GETFL) | O_NONBLOCK);
  fuse_buf request{};
  std::string part;
  while (!fuse_session_exited(session)) {
    pollfd both[2]{{device, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (::poll(both, 2, -1) < 0 && errno != EINTR) break;
    if (both[0].revents) {
      const int n = fuse_session_receive_buf(session, &request);
      if (n > 0) fuse_session_process_buf(session, &request);
      if (n == 0 || (n < 0 && n != -EAGAIN && n != -EINTR)) break;
    }
    if (both[1].revents && !read_lines(part)) break;
  }
  std::free(request.mem);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::signal(SIGPIPE, SIG_IGN);  // the end of the input shows that the test has ended
  root = fs::canonical(argv[1]);
  add_root(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  ::umask(0);  // the program's own umask counts
  fuse_set_log_func(keep);
  fuse_args none = FUSE_ARGS_INIT(0, nullptr);
  for (const char* argument : {"slow_disk", "-ofsname=slow_disk"})
    fuse_opt_add_arg(&none, argument);
  const fuse_lowlevel_ops all = operations();
  fuse_session* session = fuse_session_new(&none, &all, sizeof all, nullptr);
  fuse_opt_free_args(&none);
  // Root mounts it directly, other users by fusermount3.
  if (!session || fuse_session_mount(session, argv[2]) != 0) {
    answer(logged.empty() ? "there is no reason" : logged);
    return 1;
  }
  answer("mounted");
  serve(session);
  fail_all(EIO);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return 0;
}
