// Two schedules of a pipeline of four stages: when each stage computes which microbatch.
#include "lessons/lesson.h"

#include <fstream>

int main() {
  for (auto [name, schedule] : {std::pair("gpipe", ts::Schedule::gpipe),
                                std::pair("one_f_one_b", ts::Schedule::one_f_one_b)}) {
    ts::PipelineSchedule s = ts::pipeline_schedule(4, 6, schedule);
    std::ofstream(std::string(name) + ".svg") << ts::schedule_svg(s);
    std::cout << name << "\n" << s << "\n";
  }
}
