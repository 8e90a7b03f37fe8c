#include "processes/transport.h"

#include "processes/processes.h"

namespace tessera::inline v0::processes {
namespace {

void need_success(const TesseraTransport& t, int code, const Subject& subject) {
  if (code == 0) return;
  Message(subject.collective)
      .problem(t.error)
      .rule("processes are joined by " + std::string(t.name))
      .from(subject.loc)
      .advice("look at what the launcher says")
      .raise<CollectiveError>();
}

}  // namespace

void Transport::open(const OpenTransport& open, bool apart, const SourceLoc& loc) {
  functions_.apart = apart;
  open(functions_, loc);
}

void Transport::Start::check(int code) const { need_success(of_.functions_, code, subject_); }
void Transport::Start::all_gather(const void* mine, std::size_t bytes, void* all,
                                  TesseraRequest*& request) {
  check(of_.functions_.all_gather(&of_.functions_, mine, bytes, all, &request));
}
void Transport::Start::send(int to, int tag, const void* from, std::size_t bytes,
                            TesseraRequest*& request) {
  check(of_.functions_.send(&of_.functions_, to, tag, from, bytes, &request));
}
void Transport::Start::receive(int from, int tag, void* to, std::size_t bytes,
                               TesseraRequest*& request) {
  check(of_.functions_.receive(&of_.functions_, from, tag, to, bytes, &request));
}

bool Transport::try_send(int to, int tag, const void* from, std::size_t bytes,
                         TesseraRequest*& request) {
  const std::lock_guard lock(mutex_);
  return functions_.send(&functions_, to, tag, from, bytes, &request) == 0;
}
bool Transport::try_receive(int from, int tag, void* to, std::size_t bytes,
                            TesseraRequest*& request) {
  const std::lock_guard lock(mutex_);
  return functions_.receive(&functions_, from, tag, to, bytes, &request) == 0;
}

bool Transport::test(TesseraRequest*& request, bool& over, std::string* reason) {
  const std::lock_guard lock(mutex_);
  int is_over = 0;
  const int code = functions_.test(&functions_, &request, &is_over);
  if (code && reason) *reason = functions_.error;
  over = is_over != 0;
  return code == 0;
}

int Transport::probe(int tag) {
  const std::lock_guard lock(mutex_);
  int from = -1;
  return functions_.probe(&functions_, tag, &from) ? -1 : from;
}

std::vector<void*> Transport::share(std::size_t bytes, const Subject& subject) {
  const std::lock_guard lock(mutex_);
  std::vector<void*> segments(node().size());
  need_success(functions_, functions_.share(&functions_, bytes, segments.data(), &shared_),
               subject);
  return segments;
}

void Transport::close() {
  const std::lock_guard lock(mutex_);
  (void)functions_.unshare(&functions_, shared_);
  (void)functions_.close(&functions_);
}

void Transport::abort(int code) {
  const std::lock_guard lock(mutex_);
  functions_.abort(&functions_, code);
}

}  // namespace tessera::inline v0::processes
