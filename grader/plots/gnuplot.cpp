#include "grader/plots/gnuplot.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

constexpr double kPoint = 0.72;  // points to a pixel of the PDF

// Runs gnuplot on a file; returns what it complained about.
std::string run_gnuplot(const std::string& program) {
  std::string file = (std::filesystem::temp_directory_path() / "convlab-plot-XXXXXX").string();
  const int descriptor = ::mkstemp(file.data());
  if (descriptor < 0) throw EnvironmentError("Cannot write to " + file + ".");
  ::close(descriptor);
  write_atomically(file, program);
  FILE* pipe = ::popen(("gnuplot '" + file + "' 2>&1").c_str(), "r");
  std::string complaints;
  std::array<char, 4096> text{};
  while (pipe != nullptr && std::fgets(text.data(), text.size(), pipe) != nullptr) {
    complaints += text.data();
  }
  const int status = pipe == nullptr ? -1 : ::pclose(pipe);
  std::filesystem::remove(file);
  if (status == 0) return {};
  return complaints.empty() ? "it could not be started" : complaints;
}

}  // namespace

double font_scale(PlotFormat format) {
  return format == PlotFormat::kPdf ? kPoint : 1.0;
}

double point_scale(PlotFormat format) {
  return format == PlotFormat::kSvg ? 0.6 : font_scale(format);
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

std::string terminal_text(PlotFormat format, int height, const std::filesystem::path& output) {
  std::ostringstream text;
  constexpr double kInch = 100.0;  // pixels to an inch of the PDF
  text << "set terminal ";
  switch (format) {
    case PlotFormat::kSvg:
      text << "svg noenhanced size " << kPlotWidth << "," << height
           << " dynamic standalone background rgb 'white' font 'DejaVu Sans,14'";
      break;
    case PlotFormat::kPng:
      text << "pngcairo noenhanced size " << kPlotWidth << "," << height
           << " font 'DejaVu Sans,14'";
      break;
    case PlotFormat::kPdf:
      text << "pdfcairo noenhanced size " << kPlotWidth / kInch << "in," << height / kInch
           << "in font 'DejaVu Sans," << 14 * kPoint << "' linewidth " << kPoint << " fontscale 1";
      break;
  }
  text << "\nset output " << quoted(output.string()) << "\nset encoding utf8\n";
  return text.str();
}

double caption_size(const std::string& caption) {
  constexpr double kUsual = 13.0;
  constexpr double kPerPoint = 0.61;  // mean width of a character, in sizes
  constexpr double kMargins = 48.0;
  const double width = kUsual * kPerPoint * display_width(caption);
  return std::min(kUsual, kUsual * (kPlotWidth - kMargins) / width);
}

std::vector<std::filesystem::path> draw_plot(const ProgramText& program, const std::string& stem,
                                             const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw EnvironmentError("Cannot create the folder " + folder.string() + ": " + error.message() +
                           ".");
  }
  std::vector<std::filesystem::path> files;
  for (const auto& [format, extension] :
       {std::pair(PlotFormat::kSvg, ".svg"), std::pair(PlotFormat::kPdf, ".pdf"),
        std::pair(PlotFormat::kPng, ".png")}) {
    const auto unfinished = folder / ("." + stem + extension);
    const std::string complaints = run_gnuplot(program(format, unfinished));
    if (!complaints.empty()) {
      throw EnvironmentError("gnuplot failed: " + complaints.substr(0, complaints.find('\n')) +
                             ". To install it: common/setup/lab setup");
    }
    files.push_back(folder / (stem + extension));
    std::filesystem::rename(unfinished, files.back());
  }
  return files;
}

}  // namespace convlab::grader
