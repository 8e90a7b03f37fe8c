// The transport over MPI: a separate library, which a program that runs alone never loads.
#include "processes/transport_abi.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct TesseraRequest {
  // A message is sent in parts if its number of bytes does not fit an int.
  std::vector<MPI_Request> parts;
};
struct TesseraWindow {
  MPI_Win window;
};

namespace {

MPI_Comm world = MPI_COMM_NULL, node = MPI_COMM_NULL;
bool ours = false;  // this plug-in initialised MPI
std::vector<int> node_ranks;

int fail(TesseraTransport* t, int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::snprintf(t->error, sizeof t->error, "%s: %s", what, text);
  return code ? code : 1;
}
#define TESSERA_MPI_(call, what) \
  if (const int code = (call); code != MPI_SUCCESS) return fail(t, code, what)

constexpr std::size_t kPart = std::size_t{1} << 30;

int all_gather(TesseraTransport* t, const void* mine, std::size_t bytes, void* all,
               TesseraRequest** out) {
  auto* r = new TesseraRequest{{MPI_REQUEST_NULL}};
  *out = r;
  const int n = static_cast<int>(bytes);
  TESSERA_MPI_(MPI_Iallgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, world, &r->parts[0]),
               "MPI_Iallgather");
  return 0;
}
// Starts a message in parts, each by begin(offset, length, request).
template <class F>
int in_parts(std::size_t bytes, TesseraRequest** out, F begin) {
  auto* r = new TesseraRequest;
  *out = r;
  std::size_t at = 0;
  do {
    const std::size_t n = std::min(kPart, bytes - at);
    r->parts.push_back(MPI_REQUEST_NULL);
    if (const int code = begin(at, static_cast<int>(n), &r->parts.back())) return code;
    at += n;
  } while (at < bytes);
  return 0;
}
int send(TesseraTransport* t, int to, int tag, const void* from, std::size_t bytes,
         TesseraRequest** out) {
  return in_parts(bytes, out, [&](std::size_t at, int n, MPI_Request* request) {
    TESSERA_MPI_(
        MPI_Isend(static_cast<const char*>(from) + at, n, MPI_BYTE, to, tag, world, request),
        "MPI_Isend");
    return 0;
  });
}
int receive(TesseraTransport* t, int from, int tag, void* to, std::size_t bytes,
            TesseraRequest** out) {
  return in_parts(bytes, out, [&](std::size_t at, int n, MPI_Request* request) {
    TESSERA_MPI_(MPI_Irecv(static_cast<char*>(to) + at, n, MPI_BYTE, from, tag, world, request),
                 "MPI_Irecv");
    return 0;
  });
}
int test(TesseraTransport* t, TesseraRequest** request, int* over) {
  TesseraRequest* r = *request;
  TESSERA_MPI_(
      MPI_Testall(static_cast<int>(r->parts.size()), r->parts.data(), over, MPI_STATUSES_IGNORE),
      "MPI_Testall");
  if (*over) {
    delete r;
    *request = nullptr;
  }
  return 0;
}

int probe(TesseraTransport* t, int tag, int* from) {
  int there = 0;
  MPI_Status status;
  TESSERA_MPI_(MPI_Iprobe(MPI_ANY_SOURCE, tag, world, &there, &status), "MPI_Iprobe");
  *from = there ? status.MPI_SOURCE : -1;
  return 0;
}

int share(TesseraTransport* t, std::size_t bytes, void** segments, TesseraWindow** out) {
  void* mine = nullptr;
  auto* w = new TesseraWindow{MPI_WIN_NULL};
  *out = w;
  TESSERA_MPI_(MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, node,
                                       static_cast<void*>(&mine), &w->window),
               "MPI_Win_allocate_shared");
  // The window is accessed by loads and stores, in one epoch that lasts as long as the window.
  TESSERA_MPI_(MPI_Win_lock_all(MPI_MODE_NOCHECK, w->window), "MPI_Win_lock_all");
  for (int i = 0; i < t->node_size; ++i) {
    MPI_Aint size = 0;
    int unit = 0;
    TESSERA_MPI_(MPI_Win_shared_query(w->window, i, &size, &unit, static_cast<void*>(&segments[i])),
                 "MPI_Win_shared_query");
  }
  std::memset(mine, 0, bytes);
  TESSERA_MPI_(MPI_Win_sync(w->window), "MPI_Win_sync");
  TESSERA_MPI_(MPI_Barrier(node), "MPI_Barrier");
  return 0;
}
int unshare(TesseraTransport* t, TesseraWindow* w) {
  TESSERA_MPI_(MPI_Win_unlock_all(w->window), "MPI_Win_unlock_all");
  TESSERA_MPI_(MPI_Win_free(&w->window), "MPI_Win_free");
  delete w;
  return 0;
}

int close(TesseraTransport* t) {
  TESSERA_MPI_(MPI_Comm_free(&node), "MPI_Comm_free");
  TESSERA_MPI_(MPI_Comm_free(&world), "MPI_Comm_free");
  if (ours) TESSERA_MPI_(MPI_Finalize(), "MPI_Finalize");
  return 0;
}
void abort_all(TesseraTransport*, int code) { MPI_Abort(MPI_COMM_WORLD, code); }

}  // namespace

extern "C" __attribute__((visibility("default"))) int tessera_open_transport(TesseraTransport* t) {
  int there = 0, threads = 0;
  t->version = TESSERA_TRANSPORT_VERSION;
  TESSERA_MPI_(MPI_Initialized(&there), "MPI_Initialized");
  if (!there) {
    TESSERA_MPI_(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads),
                 "MPI_Init_thread");
    ours = true;
  } else {
    TESSERA_MPI_(MPI_Query_thread(&threads), "MPI_Query_thread");
  }
  if (threads < MPI_THREAD_SERIALIZED) {
    std::snprintf(t->error, sizeof t->error,
                  "MPI was initialised for one thread; MPI_Init_thread with MPI_THREAD_SERIALIZED "
                  "allows others");
    return 1;
  }
  // Errors are returned, so that the caller can report them.
  TESSERA_MPI_(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
  TESSERA_MPI_(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  TESSERA_MPI_(MPI_Comm_rank(world, &t->rank), "MPI_Comm_rank");
  TESSERA_MPI_(MPI_Comm_size(world, &t->size), "MPI_Comm_size");
  // For tests and measurements, the processes may act as if each had a machine of its own. If one
  // process asks for it, all do, so that none waits in another call; the library reports processes
  // whose settings differ.
  int apart = 0;
  TESSERA_MPI_(MPI_Allreduce(&t->apart, &apart, 1, MPI_INT, MPI_MAX, world), "MPI_Allreduce");
  if (apart) {
    TESSERA_MPI_(MPI_Comm_split(world, t->rank, 0, &node), "MPI_Comm_split");
  } else {
    TESSERA_MPI_(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, t->rank, MPI_INFO_NULL, &node),
                 "MPI_Comm_split_type");
  }
  TESSERA_MPI_(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  TESSERA_MPI_(MPI_Comm_size(node, &t->node_size), "MPI_Comm_size");
  node_ranks.resize(static_cast<std::size_t>(t->node_size));
  TESSERA_MPI_(MPI_Allgather(&t->rank, 1, MPI_INT, node_ranks.data(), 1, MPI_INT, node),
               "MPI_Allgather");
  t->node = node_ranks.data();
  char name[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(name, &length);
  std::size_t end = std::strcspn(name, ",\n");
  end = std::min(end, sizeof t->name - 1);
  std::memcpy(t->name, name, end);
  t->name[end] = 0;
  t->all_gather = all_gather;
  t->send = send;
  t->receive = receive;
  t->test = test;
  t->probe = probe;
  t->share = share;
  t->unshare = unshare;
  t->close = close;
  t->abort = abort_all;
  return 0;
}
