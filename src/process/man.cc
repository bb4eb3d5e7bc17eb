#include "process/man.h"

#include <fmt/format.h>

#include "process/help.h"

namespace gs::process {
namespace {

constexpr const char* kExits = R"(.SH EXIT STATUS
.TP
0
It did what it was told to do, until it was told to end.
.TP
1
It could not go on: an address could not be served, or what it played came out wrong.
.TP
2
It could not begin: a flag is wrong, or no cluster can be reached with what it was given. The message says
which and what to do.
)";

/// Text that the formatter takes for nothing else: backslashes, hyphens that are no breaks, dots and quotes
/// that begin a line.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string boldNames(const FlagOutline& flag) {
  std::string out;
  for (const auto& name : flag.names) {
    out += fmt::format("{}\\fB{}\\fR", out.empty() ? "" : ", ", escaped(name));
  }
  return flag.value.empty() ? out : out + fmt::format(" \\fI{}\\fR", escaped(flag.value));
}

std::string entryOf(const std::string& left, const std::string& right) {
  return fmt::format(".TP\n{}\n{}\n", left, escaped(right));
}

/// Its words, flags and commands, and theirs. Flags of every command (--help) are said once, of the program.
std::string partsOf(const CommandOutline& command, bool is_program) {
  std::string out;
  for (const WordOutline& word : command.words) {
    out +=
        entryOf(fmt::format("\\fI{}\\fR", escaped(word.among.empty() ? word.name : word.among)), word.help);
  }
  for (const TopicOutline& topic : command.topics) {
    if (topic.title == kGeneral && !is_program) { continue; }
    if (is_program) { out += fmt::format(".SS {}\n", escaped(topic.title)); }
    for (const FlagOutline& flag : topic.flags) { out += entryOf(boldNames(flag), sentenceOf(flag)); }
  }
  return out;
}

std::string commandsOf(const CommandOutline& command) {
  std::string out;
  for (const CommandOutline& below : command.commands) {
    if (below.commands.empty()) {
      out += fmt::format(".SS {}\n{}\n", escaped(usageOf(below)), escaped(below.summary));
      out += partsOf(below, false);
    }
    out += commandsOf(below);
  }
  return out;
}

}  // namespace

std::string manPage(const CommandOutline& program, const std::string& version) {
  std::string name = program.name;
  for (char& c : name) { c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
  std::string out = fmt::format(".TH {} 1 \"\" \"{}\" \"\"\n", escaped(name), escaped(version));
  std::string line = program.summary.substr(0, program.summary.find_first_of(".:"));
  out += fmt::format(".SH NAME\n{} \\- {}\n", escaped(program.name), escaped(line));
  out += fmt::format(".SH SYNOPSIS\n.B {}\n", escaped(usageOf(program)));
  out += fmt::format(".SH DESCRIPTION\n{}\n", escaped(program.summary));
  out += ".SH OPTIONS\n" + partsOf(program, true);
  if (!program.commands.empty()) { out += ".SH COMMANDS\n" + commandsOf(program); }
  return out + kExits;
}

}  // namespace gs::process
