// The source text of page.html, with placeholders for a plan.
#pragma once

#include <string_view>

namespace tessera::inline v0::explain {

std::string_view page_template();

}  // namespace tessera::inline v0::explain
