// Lines on stderr, one event each, as key=value or as JSON:
//   ts=2025-06-15T15:06:40.123Z level=info msg="pod bound" pod=team-a/train-0 gpus=2
//   {"ts":"2025-06-15T15:06:40.123Z","level":"info","msg":"pod bound","pod":"team-a/train-0","gpus":"2"}
// Whatever a value holds, it is one line, and text from outside cannot forge another: in text it is quoted
// unless it is plain, in JSON it is a string, always, so that one key never has values of two types. Any
// thread may log; lines never mix.
// Machines do not log: they give log lines as effects.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace gs::log {

template <class T>
concept Numeric = std::integral<T> || std::floating_point<T>;

enum class Level { Debug, Info, Warn, Error };
enum class Format { Text, Json };

struct Field {
  std::string key;
  std::string value;

  Field(std::string_view k, std::string_view v) : key{k}, value{v} {}
  Field(std::string_view k, const std::string& v) : key{k}, value{v} {}
  Field(std::string_view k, const char* v) : key{k}, value{v} {}
  Field(std::string_view k, bool v) : key{k}, value{v ? "true" : "false"} {}
  template <Numeric Number>
  Field(std::string_view k, Number v) : key{k}, value{std::to_string(v)} {}
};

/// "debug", "info", "warn", "error"; anything else is Info.
[[nodiscard]] Level levelNamed(std::string_view name);
/// Lines below `level` are dropped; Info until this is called.
void setLevel(Level level);
/// Text until this is called. Before other threads log.
void setFormat(Format format);
/// True when a line of `level` would be written: asked before fields that cost something to make.
[[nodiscard]] bool enabled(Level level);

void write(Level level, std::string_view message, std::span<const Field> fields);

inline void debug(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Debug, message, {fields.begin(), fields.size()});
}
inline void info(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Info, message, {fields.begin(), fields.size()});
}
inline void warn(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Warn, message, {fields.begin(), fields.size()});
}
inline void error(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Error, message, {fields.begin(), fields.size()});
}

/// The line without its time: `level=info msg=... key=value`. Pure.
[[nodiscard]] std::string formatLine(Level level, std::string_view message, std::span<const Field> fields);
/// The same as the inside of a JSON object: `"level":"info","msg":"...","key":"value"`. A field called ts,
/// level or msg, or as one before it, gets `_` behind its name; bytes that are no UTF-8 become U+FFFD. Pure.
[[nodiscard]] std::string formatJson(Level level, std::string_view message, std::span<const Field> fields);

}  // namespace gs::log
