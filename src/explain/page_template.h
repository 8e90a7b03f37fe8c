// page.html as it is in the source, with marks where a plan goes.
#pragma once

#include <string_view>

namespace tessera::inline v0::explain {

std::string_view page_template();

}  // namespace tessera::inline v0::explain
