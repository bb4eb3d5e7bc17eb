#include "process/outline.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace gs::process {
namespace {

bool isShown(const CLI::App* app) { return !app->get_name().empty(); }

bool isFlag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

FlagOutline outlineOf(const CLI::Option& option) {
  FlagOutline out;
  for (const auto& name : option.get_snames()) { out.names.push_back("-" + name); }
  for (const auto& name : option.get_lnames()) { out.names.push_back("--" + name); }
  if (!isFlag(option)) { out.value = option.get_type_name(); }
  out.preset = option.get_default_str();
  out.help = option.get_description();
  return out;
}

WordOutline wordOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return {.name = option.get_single_name(),
          .among = choicesOf(type).empty() ? "" : type,
          .help = option.get_description(),
          .needed = option.get_required(),
          .many = option.get_items_expected_max() > 1,
          .offered = choicesOf(type)};
}

std::string pathOf(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : pathOf(*parent) + " " + app.get_name();
}

/// Of the command, then those of commands above it that it takes too.
std::vector<TopicOutline> topicsOf(const CLI::App& app) {
  std::vector<TopicOutline> out;
  TopicOutline general{kGeneral, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->get_group().empty()) { continue; }
    if (option->get_group() == "Options") {  // where CLI11 puts --help
      general.flags.push_back(outlineOf(*option));
      continue;
    }
    const auto same = [&](const TopicOutline& topic) { return topic.title == option->get_group(); };
    auto topic = std::find_if(out.begin(), out.end(), same);
    if (topic == out.end()) { topic = out.insert(out.end(), TopicOutline{option->get_group(), {}}); }
    topic->flags.push_back(outlineOf(*option));
  }
  if (app.get_fallthrough() && app.get_parent() != nullptr) {
    for (TopicOutline& topic : topicsOf(*app.get_parent())) {
      if (topic.title != kGeneral) { out.push_back(std::move(topic)); }
    }
  }
  if (!general.flags.empty()) { out.push_back(std::move(general)); }
  return out;
}

}  // namespace

CommandOutline outlineOf(const CLI::App& app) {
  CommandOutline out;
  out.name = app.get_name();
  out.path = pathOf(app);
  out.summary = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) { out.words.push_back(wordOf(*option)); }
  }
  out.topics = topicsOf(app);
  for (const bool general : {false, true}) {  // those of every program come last
    for (const CLI::App* command : app.get_subcommands({})) {
      if (isShown(command) && (command->get_group() == kGeneral) == general) {
        out.commands.push_back(outlineOf(*command));
      }
    }
  }
  out.needs_command = app.get_require_subcommand_min() > 0;
  return out;
}

std::vector<std::string> choicesOf(const std::string& value) {
  std::vector<std::string> out;
  if (value.find('|') == std::string::npos) { return out; }
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find('|', at), value.size());
    out.push_back(value.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string oneOf(const std::vector<std::string>& among) {
  const std::vector<std::string> but_last{among.begin(), among.end() - 1};
  return fmt::format("{} or {}", fmt::join(but_last, ", "), among.back());
}

std::string sentenceOf(const FlagOutline& flag) {
  return flag.preset.empty() ? flag.help : fmt::format("{} (default {})", flag.help, flag.preset);
}

}  // namespace gs::process
