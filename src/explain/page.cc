// Renders a plan as an HTML page.
#include "base/message.h"
#include "explain/page_template.h"

#include <tessera/detail/input_file.h>
#include <tessera/detail/replace_file.h>
#include <tessera/plan.h>

#include <array>

namespace tessera::inline v0 {

namespace {

// Escapes '<', so that no text can end the script or open a comment in it.
std::string for_script(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string for_text(const std::string& s) {
  std::string out;
  for (char c : s) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += c;
    }
  }
  return out;
}

void replace(std::string& text, std::string_view mark, const std::string& by) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos)
    throw InternalError("the page has no place for " + std::string(mark));
  text.replace(at, mark.size(), by);
}

}  // namespace

std::string to_html(const Plan& plan) {
  std::string page(explain::page_template());
  replace(page, "{{title}}", for_text(plan.name));
  replace(page, "{{plan}}", for_script(to_json(plan)));
  return page;
}

void save_html(const Plan& plan, const std::string& path, std::source_location loc) {
  const std::string page = to_html(plan);
  const std::array<std::string_view, 1> parts{page};
  const std::string problem = detail::replace_file(path, parts);
  if (!problem.empty())
    Message("save_html")
        .problem("'" + detail::shown_path(path) + "' cannot be written: " + problem)
        .rule("the page is one file")
        .from(loc)
        .advice("a path in a folder where files may be written")
        .raise<IoError>();
}

}  // namespace tessera::inline v0
