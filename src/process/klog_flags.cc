#include "process/klog_flags.h"

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

void addKlog(Command command, KlogFlags& f) {
  addLogFormat(command, f.log);
  command.topic("Log").number("-v,--v", "N", f.verbosity,
                              "Verbosity: from 4 on debug lines are written. Without it LOG_LEVEL counts: a "
                              "verbosity, or debug, info, "
                              "warn or error");
  command.topic("Of klog, taken without meaning");
  for (const char* name : kWithoutMeaning) {
    // Those that are true or false may stand without a value.
    command.ignored(
        name, [&f, name] { f.without_meaning.emplace_back(name); }, "Lines go to stderr");
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
  useLog(f.log);
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
