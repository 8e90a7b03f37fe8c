// Converts plans to JSON.
#include <tessera/plan.h>

#include <nlohmann/json.hpp>

namespace tessera::inline v0 {

namespace {

using Json = nlohmann::ordered_json;

template <class T, class F>
Json list(const std::vector<T>& all, F&& one) {
  Json j = Json::array();
  for (const T& x : all) j.push_back(one(x));
  return j;
}

Json end_json(const PlannedEnd& e) {
  return {{"name", e.name},   {"type", e.type},   {"part", e.part}, {"spec", e.spec},
          {"bytes", e.bytes}, {"asked", e.asked}, {"why", e.why}};
}
Json number_json(std::size_t equation) {
  return equation == PlannedCollective::none ? Json() : Json(equation);
}
Json value_json(const PlannedValue& v) {
  return {{"op", v.op},       {"line", v.line},
          {"code", v.code},   {"type", v.type},
          {"from", v.from},   {"to", v.to},
          {"bytes", v.bytes}, {"equation", number_json(v.equation)}};
}
Json collective_json(const PlannedCollective& c) {
  Json j{{"kind", c.kind},
         {"axes", c.axes},
         {"values", list(c.values, value_json)},
         {"op", c.op},
         {"line", c.line},
         {"code", c.code},
         {"type", c.type},
         {"from", c.from},
         {"to", c.to},
         {"bytes", c.bytes},
         {"times", c.times},
         {"in_while", c.in_while},
         {"in_branch", c.in_branch},
         {"seconds", c.seconds},
         {"total_bytes", c.total_bytes()},
         {"total_seconds", c.total_seconds()}};
  j["equation"] = number_json(c.equation);
  return j;
}
Json equation_json(const PlannedEquation& e) {
  return {
      {"depth", e.depth},
      {"op", e.op},
      {"line", e.line},
      {"scope", e.scope},
      {"operands", e.operands},
      {"results",
       list(e.results,
            [](const PlannedResult& r) {
              return Json{{"name", r.name}, {"type", r.type}, {"spec", r.spec}, {"bytes", r.bytes}};
            })},
      {"collectives", e.collectives}};
}

}  // namespace

std::string to_json(const Plan& p) {
  Json j{
      {"format", "tessera plan 1"},
      {"name", p.name},
      {"mesh", p.mesh},
      {"axes", list(p.axes,
                    [](const PlannedAxis& a) {
                      return Json{{"name", a.name},
                                  {"size", a.size},
                                  {"processes", a.processes},
                                  {"machines", a.machines},
                                  {"latency", a.link.latency},
                                  {"bandwidth", a.link.bandwidth},
                                  {"moved_bytes", a.moved_bytes},
                                  {"seconds", a.seconds}};
                    })},
      {"devices", p.devices},
      {"flops", p.flops},
      {"memory_traffic", p.memory_traffic},
      {"compute_seconds", p.compute_seconds},
      {"moved_bytes", p.moved_bytes},
      {"communication_seconds", p.communication_seconds},
      {"seconds", p.seconds()},
      {"argument_bytes", p.argument_bytes},
      {"result_bytes", p.result_bytes},
      {"donated_bytes", p.donated_bytes},
      {"temporary_bytes", p.temporary_bytes},
      {"peak_bytes", p.peak_bytes()},
      {"headline", headline(p)},
      {"advice", p.advice},
      {"arguments", list(p.arguments, end_json)},
      {"results", list(p.results, end_json)},
      {"collectives", list(p.collectives, collective_json)},
      {"wholes", list(p.wholes,
                      [](const PlannedWhole& w) {
                        return Json{{"name", w.name}, {"type", w.type}, {"bytes", w.bytes},
                                    {"op", w.op},     {"line", w.line}, {"why", w.why}};
                      })},
      {"equations", list(p.equations, equation_json)},
      {"steps", list(p.steps,
                     [](const PlannedStep& s) {
                       return Json{{"name", s.name}, {"line", s.line}, {"live", s.live}};
                     })},
      {"peak",
       list(p.peak,
            [](const PlannedLive& l) {
              return Json{{"name", l.name}, {"line", l.line}, {"type", l.type}, {"bytes", l.bytes}};
            })},
      {"timeline", list(p.timeline, [](const PlannedDevices& d) {
         return Json{{"first", d.first},
                     {"count", d.count},
                     {"spans", list(d.spans, [](const PlannedSpan& s) {
                        return Json{{"lane", s.lane},
                                    {"name", s.name},
                                    {"line", s.line},
                                    {"start", s.start},
                                    {"seconds", s.seconds}};
                      })}};
       })}};
  // Names given by the user may not be valid UTF-8.
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera::inline v0
