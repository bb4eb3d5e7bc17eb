#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <memory>
#include <set>
#include <utility>

#include "base/quoted.h"

namespace gs::log {
namespace {

// Both with the time before what formatLine() and formatJson() give.
constexpr const char* kTextPattern = "ts=%Y-%m-%dT%H:%M:%S.%eZ %v";
constexpr const char* kJsonPattern = R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ",%v})";

std::atomic<Format> format{Format::Text};

spdlog::level::level_enum toSpdlog(Level level) {
  switch (level) {
    case Level::Debug: return spdlog::level::debug;
    case Level::Info: return spdlog::level::info;
    case Level::Warn: return spdlog::level::warn;
    case Level::Error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::string_view levelName(Level level) {
  switch (level) {
    case Level::Debug: return "debug";
    case Level::Info: return "info";
    case Level::Warn: return "warn";
    case Level::Error: return "error";
  }
  return "error";
}

std::unique_ptr<spdlog::formatter> formatterOf(const char* pattern) {
  return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc);
}

// Never destroyed: threads may log while the process exits.
spdlog::logger& logger() {
  static spdlog::logger& instance = *[] {
    auto made = std::make_unique<spdlog::logger>("gs", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_formatter(formatterOf(kTextPattern));
    made->flush_on(spdlog::level::debug);
    return made.release();
  }();
  return instance;
}

bool isPlain(std::string_view text) {
  if (text.empty()) { return false; }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '"' || c == '=' || c == '\\') { return false; }
  }
  return true;
}

void appendEscaped(std::string& line, std::string_view text) {
  line += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  line += '"';
}

void appendValue(std::string& line, std::string_view text) {
  if (isPlain(text)) {
    line += text;
  } else {
    appendEscaped(line, text);
  }
}

}  // namespace

Level levelNamed(std::string_view name) {
  for (const Level level : {Level::Debug, Level::Warn, Level::Error}) {
    if (levelName(level) == name) { return level; }
  }
  return Level::Info;
}

void setFormat(Format wanted) {
  format = wanted;
  logger().set_formatter(formatterOf(wanted == Format::Json ? kJsonPattern : kTextPattern));
}

void setLevel(Level level) { logger().set_level(toSpdlog(level)); }

bool enabled(Level level) { return logger().should_log(toSpdlog(level)); }

void write(Level level, std::string_view message, std::span<const Field> fields) {
  if (!enabled(level)) { return; }
  const bool as_json = format == Format::Json;
  logger().log(toSpdlog(level),
               as_json ? formatJson(level, message, fields) : formatLine(level, message, fields));
}

std::string formatLine(Level level, std::string_view message, std::span<const Field> fields) {
  std::string line = "level=";
  line += levelName(level);
  line += " msg=";
  appendValue(line, message);
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    appendValue(line, field.value);
  }
  return line;
}

std::string formatJson(Level level, std::string_view message, std::span<const Field> fields) {
  std::set<std::string> names{"ts", "level", "msg"};
  std::string line = "\"level\":";
  appendQuoted(line, levelName(level));
  line += ",\"msg\":";
  appendQuoted(line, message);
  for (const Field& field : fields) {
    std::string name = field.key;
    while (!names.insert(name).second) { name += '_'; }
    line += ',';
    appendQuoted(line, name);
    line += ':';
    appendQuoted(line, field.value);
  }
  return line;
}

}  // namespace gs::log
