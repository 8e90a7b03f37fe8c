// Timetables agree with those of the papers, which are written down by hand.
#include <tessera/pipeline.h>

#include <gtest/gtest.h>

#include <sstream>

namespace ts = tessera;
using ts::pipeline_schedule;
using ts::PipelineSchedule;
using ts::Schedule;
using Kind = ts::PipelineWork::Kind;

namespace {

/// One line per stage, such as "F0 F1 . B1 B0".
std::vector<std::string> rows(const PipelineSchedule& s) {
  std::vector<std::string> out;
  for (const auto& row : s.work) {
    std::string text;
    for (const ts::PipelineWork& w : row) {
      if (!text.empty()) text += ' ';
      text += w.kind == Kind::idle
                  ? "."
                  : (w.kind == Kind::forward ? "F" : "B") + std::to_string(w.microbatch);
    }
    out.push_back(text);
  }
  return out;
}
using Rows = std::vector<std::string>;

// Figure 2c of Huang et al. 2019: four stages, four microbatches.
TEST(Schedules, GPipe) {
  EXPECT_EQ(rows(pipeline_schedule(4, 4, Schedule::gpipe)),
            (Rows{"F0 F1 F2 F3 . . . . . . B3 B2 B1 B0", ". F0 F1 F2 F3 . . . . B3 B2 B1 B0 .",
                  ". . F0 F1 F2 F3 . . B3 B2 B1 B0 . .", ". . . F0 F1 F2 F3 B3 B2 B1 B0 . . ."}));
  EXPECT_EQ(rows(pipeline_schedule(2, 1, Schedule::gpipe)), (Rows{"F0 . . B0", ". F0 B0 ."}));
  EXPECT_EQ(rows(pipeline_schedule(1, 3, Schedule::gpipe)), (Rows{"F0 F1 F2 B2 B1 B0"}));
}

// Figure 4 (top) of Narayanan et al. 2021 with backwards as long as forwards: four stages, eight
// microbatches.
TEST(Schedules, OneForwardOneBackward) {
  EXPECT_EQ(rows(pipeline_schedule(4, 8, Schedule::one_f_one_b)),
            (Rows{"F0 F1 F2 F3 . . . B0 F4 B1 F5 B2 F6 B3 F7 B4 . B5 . B6 . B7",
                  ". F0 F1 F2 . . B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 . B6 . B7 .",
                  ". . F0 F1 . B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 . B7 . .",
                  ". . . F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 . . ."}));
  EXPECT_EQ(rows(pipeline_schedule(2, 4, Schedule::one_f_one_b)),
            (Rows{"F0 F1 . B0 F2 B1 F3 B2 . B3", ". F0 B0 F1 B1 F2 B2 F3 B3 ."}));
  EXPECT_EQ(rows(pipeline_schedule(1, 3, Schedule::one_f_one_b)), (Rows{"F0 B0 F1 B1 F2 B2"}));
  // There are fewer microbatches than stages.
  EXPECT_EQ(rows(pipeline_schedule(4, 2, Schedule::one_f_one_b)),
            (Rows{"F0 F1 . . . . . B0 . B1", ". F0 F1 . . . B0 . B1 .", ". . F0 F1 . B0 . B1 . .",
                  ". . . F0 B0 F1 B1 . . ."}));
}

/// The tick at which a stage does it, or -1 if it never does.
std::int64_t tick_of(const PipelineSchedule& s, std::int64_t stage, Kind kind, std::int64_t i) {
  std::int64_t tick = -1;
  for (std::int64_t t = 0; t < s.ticks(); ++t) {
    if (!(s.work[static_cast<std::size_t>(stage)][static_cast<std::size_t>(t)] ==
          ts::PipelineWork{kind, i}))
      continue;
    EXPECT_EQ(tick, -1) << "twice";
    tick = t;
  }
  return tick;
}

// Everything is done once and after its dependencies, and the bubble has the length given in the
// papers.
TEST(Schedules, Laws) {
  for (Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b})
    for (std::int64_t p = 1; p <= 6; ++p)
      for (std::int64_t m = 1; m <= 13; ++m) {
        SCOPED_TRACE(to_string(schedule) + " " + std::to_string(p) + " " + std::to_string(m));
        const PipelineSchedule s = pipeline_schedule(p, m, schedule);
        EXPECT_EQ(s.ticks(), 2 * (m + p - 1));
        EXPECT_EQ(s.idle(), 2 * p * (p - 1));
        EXPECT_EQ(s.bubble(), static_cast<double>(p - 1) / static_cast<double>(m + p - 1));
        for (std::int64_t stage = 0; stage < p; ++stage) {
          EXPECT_EQ(s.in_flight(stage), schedule == Schedule::gpipe ? m : std::min(m, p - stage));
          for (std::int64_t i = 0; i < m; ++i) {
            const std::int64_t f = tick_of(s, stage, Kind::forward, i),
                               b = tick_of(s, stage, Kind::backward, i);
            EXPECT_GE(f, 0);
            EXPECT_LT(f, b);
            if (stage > 0) {
              EXPECT_GT(f, tick_of(s, stage - 1, Kind::forward, i));
              EXPECT_LT(b, tick_of(s, stage - 1, Kind::backward, i));
            }
          }
        }
      }
}

TEST(Schedules, Drawing) {
  const PipelineSchedule s = pipeline_schedule(3, 4, Schedule::one_f_one_b);
  EXPECT_EQ(to_string(s),
            "1F1B: 3 stages, 4 microbatches, 12 ticks, 33.3% idle\n"
            "tick      0  1  2  3  4  5  6  7  8  9 10 11\n"
            "stage 0  F0 F1 F2  .  . B0 F3 B1  . B2  . B3\n"
            "stage 1   . F0 F1  . B0 F2 B1 F3 B2  . B3  .\n"
            "stage 2   .  . F0 B0 F1 B1 F2 B2 F3 B3  .  .\n");
  std::ostringstream out;
  out << s;
  EXPECT_EQ(out.str(), to_string(s));
  EXPECT_EQ(to_string(pipeline_schedule(1, 1, Schedule::gpipe)),
            "GPipe: 1 stage, 1 microbatch, 2 ticks, 0.0% idle\n"
            "tick      0  1\n"
            "stage 0  F0 B0\n");
}

TEST(Schedules, Svg) {
  const std::string svg = schedule_svg(pipeline_schedule(3, 4, Schedule::one_f_one_b));
  const auto count = [&](const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++n;
    return n;
  };
  // The picture has a box per tick and stage, and one per kind in the legend.
  EXPECT_EQ(count("fill=\"rgb(128,177,211)\""), 3u * 4 + 1);
  EXPECT_EQ(count("fill=\"rgb(253,192,134)\""), 3u * 4 + 1);
  EXPECT_EQ(count("fill=\"#f3f3f3\""), 3u * 4 + 1);
  EXPECT_EQ(count(">stage 2<"), 1u);
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

}  // namespace
