#include "process/klog_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "k8s/kubeconfig.h"

namespace gs::process {
namespace {

constexpr int kDebugFrom = 4;
constexpr const char* kToStderr = "--logtostderr";  // what happens anyway
constexpr const char* kWithoutMeaning[] = {
    kToStderr,     "--alsologtostderr",   "--log-backtrace-at",    "--log-dir",
    "--log-file",  "--log-file-max-size", "--log-flush-frequency", "--stderrthreshold",
    "--vmodule",   "--skip-headers",      "--skip-log-headers",    "--add-dir-header",
    "--one-output"};

log::Level levelOf(int verbosity) { return verbosity >= kDebugFrom ? log::Level::Debug : log::Level::Info; }

}  // namespace

std::vector<std::string> asPflag(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  bool flags = true;  // none after "--"
  for (std::string arg : arguments) {
    flags = flags && arg != "--";
    if (flags && arg.starts_with("-v=")) { arg.insert(0, "-"); }
    if (flags && arg.starts_with("--")) {
      const auto end = arg.begin() + static_cast<std::ptrdiff_t>(std::min(arg.find('='), arg.size()));
      std::replace(arg.begin(), end, '_', '-');
    }
    out.push_back(std::move(arg));
  }
  return out;
}

void addKlog(CLI::App& app, KlogFlags& f) {
  app.add_option(
      "-v,--v", f.verbosity,
      "Verbosity: from 4 on debug lines are written. Without it LOG_LEVEL counts: a verbosity, or debug, "
      "info, warn or error");
  for (const char* name : kWithoutMeaning) {
    // Those that are true or false may stand without a value.
    app.add_option_function<std::string>(
           name, [&f, name](const std::string&) { f.without_meaning.emplace_back(name); },
           "Accepted, without meaning: lines go to stderr")
        ->expected(0, 1);
  }
}

std::optional<log::Level> logLevelOf(std::string_view text) {
  int verbosity = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), verbosity);
  if (error == std::errc{} && end == text.data() + text.size()) { return levelOf(verbosity); }
  if (equalInAnyCase(text, "warning")) { return log::Level::Warn; }
  for (const char* name : {"debug", "info", "warn", "error"}) {
    if (equalInAnyCase(text, name)) { return log::levelNamed(name); }
  }
  return std::nullopt;
}

void useKlog(const KlogFlags& f) {
  const std::string text = k8s::Surroundings::ofProcess().env("LOG_LEVEL").value_or("");
  const auto level = f.verbosity ? levelOf(*f.verbosity) : logLevelOf(text);
  log::setLevel(level.value_or(log::Level::Info));
  if (!level && !text.empty()) {
    log::warn("LOG_LEVEL is no number and none of debug, info, warn and error; taken for info",
              {{"value", text}});
  }
  for (const std::string& name : f.without_meaning) {
    if (name != kToStderr) { log::warn("a flag without meaning: lines go to stderr", {{"flag", name}}); }
  }
}

}  // namespace gs::process
