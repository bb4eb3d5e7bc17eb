#include "process/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <utility>

#include "base/duration.h"
#include "process/chosen.h"
#include "process/outline.h"

namespace gs::process {
namespace {

/// Of a flag that is given twice.
constexpr auto kLast = CLI::MultiOptionPolicy::TakeLast;

/// "--leader-elect" of "--leader-elect,!--no-leader-elect"; what a message calls it.
std::string firstName(const std::string& names) {
  const std::string first = names.substr(0, names.find(','));
  const bool has_long = !first.starts_with("--") && names.find("--") != std::string::npos;
  return has_long ? names.substr(names.find("--"), names.find(',', names.find("--"))) : first;
}

void mustBeOneOf(const std::string& name, const std::string& text, const std::vector<std::string>& among) {
  if (std::find(among.begin(), among.end(), text) != among.end()) { return; }
  throw CLI::ValidationError{fmt::format("{} is '{}'; write {}", name, text, oneOf(among))};
}

std::optional<std::int64_t> numberIn(const std::string& text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size()) { return std::nullopt; }
  return n;
}

}  // namespace

Command& Command::topic(std::string title) {
  topic_ = std::move(title);
  return *this;
}

Command& Command::text(const std::string& names, const std::string& value, std::string& into,
                       const std::string& help) {
  app_->add_option_function<std::string>(
          names, [&into](const std::string& text) { into = text; }, help)
      ->type_name(value)
      ->multi_option_policy(kLast)
      ->group(topic_)
      ->default_str(into);
  return *this;
}

Command& Command::name(const std::string& names, std::string& into, const std::string& help) {
  app_->add_option_function<std::string>(
          names,
          [&into, name = firstName(names)](const std::string& text) {
            if (text.empty()) { throw CLI::ValidationError{fmt::format("{} is ''; write a name", name)}; }
            into = text;
          },
          help)
      ->type_name("NAME")
      ->multi_option_policy(kLast)
      ->group(topic_)
      ->default_str(into);
  return *this;
}

Command& Command::choice(const std::string& names, const std::vector<std::string>& among, std::string& into,
                         const std::string& help, const std::string& alone) {
  if (!alone.empty()) { chosen_->alone[firstName(names)] = alone; }
  app_->add_option_function<std::string>(
          names,
          [&into, among, name = firstName(names)](const std::string& text) {
            mustBeOneOf(name, text, among);
            into = text;
          },
          help)
      ->type_name(fmt::format("{}", fmt::join(among, "|")))
      ->multi_option_policy(kLast)
      ->group(topic_)
      ->default_str(into);
  return *this;
}

Command& Command::duration(const std::string& names, Duration& into, const std::string& help) {
  app_->add_option_function<std::string>(
          names,
          [&into, name = firstName(names)](const std::string& text) {
            const auto read = parseDuration(text);
            if (!read) { throw CLI::ValidationError{fmt::format("{}: {}", name, read.error().message)}; }
            into = *read;
          },
          help)
      ->type_name("DURATION")
      ->multi_option_policy(kLast)
      ->group(topic_)
      ->default_str(printDuration(into));
  return *this;
}

Command& Command::flag(const std::string& names, bool& into, const std::string& help) {
  app_->add_flag_function(
          names, [&into](std::int64_t n) { into = n > 0; }, help)
      ->check([name = firstName(names)](const std::string& text) {
        try {
          CLI::detail::to_flag_value(text);
          return std::string{};
        } catch (const std::invalid_argument&) { return fmt::format("'{}' is neither true nor false", text); }
      })
      ->multi_option_policy(kLast)
      ->group(topic_)
      ->default_str(into ? "true" : "");
  return *this;
}

std::string Command::ranged(const std::string& help, Range range) {
  return fmt::format("{}, {} to {}", help, range.least, range.most);
}

Command& Command::number(const Texts& texts, Range range, std::optional<std::int64_t> preset,
                         std::function<void(std::int64_t)> set) {
  app_->add_option_function<std::string>(
          texts.names,
          [range, set = std::move(set), name = firstName(texts.names)](const std::string& text) {
            const auto n = numberIn(text);
            if (!n || *n < range.least || *n > range.most) {
              throw CLI::ValidationError{fmt::format("{} is '{}'; write a number from {} to {}", name, text,
                                                     range.least, range.most)};
            }
            set(*n);
          },
          texts.help)
      ->type_name(texts.value)
      ->multi_option_policy(kLast)
      ->group(topic_)
      ->default_str(preset ? std::to_string(*preset) : "");
  return *this;
}

Command& Command::number(const std::string& names, const std::string& value, std::optional<int>& into,
                         const std::string& help) {
  constexpr Range kAny{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
  return number({names, value, help}, kAny, into, [&into](std::int64_t n) { into = static_cast<int>(n); });
}

Command& Command::ignored(const std::string& name, std::function<void()> told, const std::string& help) {
  app_->add_option_function<std::string>(
          name, [told = std::move(told)](const std::string&) { told(); }, help)
      ->type_name("[VALUE]")
      ->multi_option_policy(kLast)
      ->group(topic_)
      ->expected(0, 1);
  return *this;
}

Command& Command::word(const std::string& name, std::string& into, const std::string& help, bool is_needed) {
  app_->add_option_function<std::string>(
          name,
          [&into, name, is_needed](const std::string& text) {
            if (is_needed && text.empty()) {
              throw CLI::ValidationError{fmt::format("{} is ''; write one that is not empty", name)};
            }
            into = text;
          },
          help)
      ->required(is_needed)
      ->type_name("");
  return *this;
}

Command& Command::wordAmong(const std::string& name, const std::vector<std::string>& among, std::string& into,
                            const std::string& help) {
  app_->add_option_function<std::string>(
          name,
          [&into, among, name](const std::string& text) {
            mustBeOneOf(name, text, among);
            into = text;
          },
          help)
      ->required()
      ->type_name(fmt::format("{}", fmt::join(among, "|")));
  return *this;
}

Command& Command::words(const std::string& name, std::vector<std::string>& into, const std::string& help) {
  app_->add_option(name, into, help)->expected(0, -1)->type_name("");
  return *this;
}

Command Command::command(const std::string& name, const std::string& summary) {
  CLI::App* below = app_->add_subcommand(name, summary);
  below->fallthrough(app_->get_parent() != nullptr);
  if (!chosen_->actions.contains(app_)) { app_->require_subcommand(1); }
  return {*below, *chosen_};
}

Command Command::general(const std::string& name, const std::string& summary) {
  CLI::App* below = app_->add_subcommand(name, summary);
  below->group(kGeneral);
  return {*below, *chosen_};
}

void Command::does(Action action) {
  chosen_->actions[app_] = std::move(action);
  app_->require_subcommand(0, 1);
}

}  // namespace gs::process
