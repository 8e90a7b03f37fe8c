// A plug-in as the sources of an earlier version compiled it: the interface is a copy of what
// src/processes/transport_abi.h was at version 3, and is not changed with it. Each function leaves
// what it was called with, so that plugin_test.cc sees that both sides agree on every member.
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

struct Request;
struct Window;

struct Transport {
  int version;
  int apart;
  char name[96];
  int rank, size;
  int node_size;
  const int* node;
  char error[512];
  int (*all_gather)(Transport*, const void* mine, std::size_t bytes, void* all, Request**);
  int (*send)(Transport*, int to, int tag, const void* from, std::size_t bytes, Request**);
  int (*receive)(Transport*, int from, int tag, void* to, std::size_t bytes, Request**);
  int (*test)(Transport*, Request**, int* over);
  int (*probe)(Transport*, int tag, int* from);
  int (*share)(Transport*, std::size_t bytes, void** segments, Window**);
  int (*unshare)(Transport*, Window*);
  int (*close)(Transport*);
  void (*abort)(Transport*, int code);
};

template <class... A>
int note(Transport* t, const char* format, A... arguments) {
  std::snprintf(t->error, sizeof t->error, format, arguments...);
  return 0;
}

}  // namespace

extern "C" int tessera_open_transport(Transport* t) {
  static const int node[] = {4, 6};
  t->version = EARLIER_VERSION;
  std::strcpy(t->name, "earlier");
  t->rank = 5;
  t->size = 7;
  t->node_size = 2;
  t->node = node;
  t->all_gather = [](Transport* t, const void* mine, std::size_t bytes, void* all, Request** r) {
    std::memcpy(all, mine, bytes);
    *r = nullptr;
    return note(t, "all_gather %zu", bytes);
  };
  t->send = [](Transport* t, int to, int tag, const void* from, std::size_t bytes, Request** r) {
    *r = nullptr;
    return note(t, "send %d %d %c %zu", to, tag, *static_cast<const char*>(from), bytes);
  };
  t->receive = [](Transport* t, int from, int tag, void* to, std::size_t bytes, Request** r) {
    *static_cast<char*>(to) = 'r';
    *r = nullptr;
    return note(t, "receive %d %d %zu", from, tag, bytes);
  };
  t->test = [](Transport* t, Request** r, int* over) {
    *over = *r == nullptr;
    return note(t, "test");
  };
  t->probe = [](Transport* t, int tag, int* from) {
    *from = -1;
    return note(t, "probe %d", tag);
  };
  t->share = [](Transport* t, std::size_t bytes, void** segments, Window** w) {
    segments[0] = segments[1] = nullptr;
    *w = nullptr;
    return note(t, "share %zu", bytes);
  };
  t->unshare = [](Transport* t, Window*) { return note(t, "unshare"); };
  t->close = [](Transport* t) { return note(t, "close"); };
  t->abort = [](Transport* t, int code) { note(t, "abort %d", code); };
  return 0;
}
