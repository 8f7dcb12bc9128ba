#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "grader/report/pages/page.hpp"

namespace convlab::grader::testing {

/// A name that would run, draw or end something if a page took it for more than text.
inline const std::string kHostileName =
    "</script><img src=x onerror=\"throw 1\"><b>O'Brien & \"Sons\" \xE2\x82\xAC";

/// What a browser made of a page.
struct OpenedPage {
  std::string text{};  ///< all words of the page, as they are read
  std::vector<std::string>
      wrong{};  ///< errors, words cut off or over words, marks that are missing
  int charts = 0;
  int marks = 0;
  int width = 0;  ///< of the page, pixels
};

/// The headless browser of this machine: $CONVLAB_CHROMIUM, chromium or google-chrome; nothing, and
/// why, if none opens a file.
std::optional<std::string> find_browser(std::string& why_not);

/// Opens a page as a reader would, with a window of this width.
/// @param picture  also kept there, as PNG; empty: not kept
OpenedPage opened(const std::string& browser, const Page& page, int width,
                  const std::filesystem::path& picture = {});

}  // namespace convlab::grader::testing
