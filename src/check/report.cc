#include "check/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>

namespace gs::check {
namespace {

constexpr const char* kGpus = "CUDA_VISIBLE_DEVICES";
constexpr const char* kNode = "NODE_NAME";
constexpr std::int64_t kLongest = 86'400;

Line info(std::string text) { return {Level::Info, std::move(text)}; }
Line issue(const char* what) { return {Level::Warning, fmt::format("Environment issue: {}", what)}; }

}  // namespace

Result<std::chrono::seconds> interval(const Env& env) {
  const auto text = env("LOG_INTERVAL");
  if (!text) { return std::chrono::seconds{10}; }
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (error != std::errc{} || end != text->data() + text->size()) {
    return fail(Code::Invalid, fmt::format("LOG_INTERVAL is '{}'; write a whole number of seconds", *text));
  }
  if (seconds < 1) { return fail(Code::Invalid, "LOG_INTERVAL must be at least 1 second"); }
  if (seconds > kLongest) {
    return fail(Code::Invalid,
                fmt::format("LOG_INTERVAL is '{}'; write {} seconds (a day) or less", *text, kLongest));
  }
  return std::chrono::seconds{seconds};
}

std::vector<Line> beginning(const Env& env, std::chrono::seconds every) {
  std::vector<Line> out{info("GPU Scheduler Check service starting..."),
                        info(fmt::format("Log interval: {} seconds", every.count()))};
  const std::size_t before = out.size();
  const auto gpus = env(kGpus);
  if (!gpus) { out.push_back(issue("CUDA_VISIBLE_DEVICES not set by scheduler")); }
  if (gpus && gpus->empty()) { out.push_back(issue("CUDA_VISIBLE_DEVICES is empty")); }
  if (!env(kNode)) { out.push_back(issue("NODE_NAME environment variable not set")); }
  if (out.size() == before) { out.push_back(info("Environment validation passed")); }
  return out;
}

Line state(const Env& env, const std::string& host) {
  const std::string gpus = env(kGpus).value_or("not-set");
  return info(fmt::format("Node: {}, CUDA_VISIBLE_DEVICES: {}", env(kNode).value_or(host),
                          gpus.empty() ? "empty" : gpus));
}

std::vector<Line> ending(int signal) {
  return {info(fmt::format("Received signal {}, shutting down gracefully...", signal)),
          info("GPU Scheduler Check service stopped")};
}

Status expectation(const Env& env, const std::string& ids) {
  const auto gpus = env(kGpus);
  if (gpus && *gpus == ids) { return {}; }
  if (!gpus) {
    return fail(Code::Invalid,
                fmt::format("{} is not set, and '{}' was expected; is gpu-scheduler's webhook installed?",
                            kGpus, ids));
  }
  return fail(Code::Invalid,
              fmt::format("{} is '{}', and '{}' was expected; does the container, or a webhook of "
                          "others, set it?",
                          kGpus, *gpus, ids));
}

std::string print(const Line& line, Wall now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count();
  return fmt::format("{:%Y-%m-%d %H:%M:%S},{:03} - __main__ - {} - {}\n",
                     fmt::gmtime(seconds.time_since_epoch().count()), ms,
                     line.level == Level::Info ? "INFO" : "WARNING", line.text);
}

}  // namespace gs::check
