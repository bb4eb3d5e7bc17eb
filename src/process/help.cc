#include "process/help.h"

#include <fmt/format.h>

#include <algorithm>

namespace gs::process {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 30;  // where what is said of a flag begins

/// Its words, in lines that begin at `from`; the cursor stands at `at`.
std::string wrapped(std::string_view text, std::size_t at, std::size_t from) {
  std::string out;
  bool is_first = true;  // of the line
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!is_first && at + 1 + word.size() > kWidth) {
      out += '\n' + std::string(from, ' ');
      at = from;
      is_first = true;
    }
    if (!is_first) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
    is_first = false;
  }
  return out + '\n';
}

/// "  left    right", right of it on a line of its own where left is long.
std::string entry(const std::string& left, const std::string& right) {
  std::string out = "  " + left;
  if (right.empty()) { return out + '\n'; }
  if (out.size() + 2 > kColumn) {
    out += '\n' + std::string(kColumn, ' ');
  } else {
    out.resize(kColumn, ' ');
  }
  return out + wrapped(right, kColumn, kColumn);
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string shown(const WordOutline& word) {
  std::string out = word.among.empty() ? upper(word.name) : word.among;
  if (word.many) { out += "..."; }
  return word.needed ? out : "[" + out + "]";
}

}  // namespace

std::string usageOf(const CommandOutline& command) {
  std::string out = command.path;
  if (command.needs_command) { return out + " COMMAND"; }
  for (const WordOutline& word : command.words) { out += " " + shown(word); }
  return out + " [FLAGS]";
}

std::string helpText(const CommandOutline& command) {
  std::string out = wrapped(command.summary, 0, 0);
  out += fmt::format("\nUsage: {}\n", usageOf(command));
  if (!command.commands.empty() && !command.needs_command) {
    out += fmt::format("       {} COMMAND\n", command.path);
  }
  if (!command.words.empty()) { out += "\nArguments:\n"; }
  for (const WordOutline& word : command.words) {
    out += entry(word.among.empty() ? upper(word.name) : word.among, word.help);
  }
  if (!command.commands.empty()) { out += "\nCommands:\n"; }
  for (const CommandOutline& below : command.commands) { out += entry(below.name, below.summary); }
  for (const TopicOutline& topic : command.topics) {
    out += fmt::format("\n{}:\n", topic.title);
    for (const FlagOutline& flag : topic.flags) {
      std::string left = fmt::format("{}", fmt::join(flag.names, ", "));
      if (!flag.value.empty()) { left += " " + flag.value; }
      out += entry(left, sentenceOf(flag));
    }
  }
  if (!command.commands.empty()) {
    out += fmt::format("\n'{} help COMMAND' says more of a command.\n",
                       command.path.substr(0, command.path.find(' ')));
  }
  return out;
}

}  // namespace gs::process
