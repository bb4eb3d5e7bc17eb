#include "process/completion.h"

#include <fmt/format.h>

#include <algorithm>

namespace gs::process {
namespace {

/// "_gpu_sandbox_node": a function's name for a command.
std::string functionOf(const CommandOutline& command) {
  std::string out = "_" + command.path;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '-' || c == ' '; }, '_');
  return out;
}

/// Collects this command and all that are below it, the program first.
void collect(const CommandOutline& command, std::vector<const CommandOutline*>& out) {
  out.push_back(&command);
  for (const auto& below : command.commands) { collect(below, out); }
}

std::vector<const CommandOutline*> allOf(const CommandOutline& program) {
  std::vector<const CommandOutline*> out;
  collect(program, out);
  return out;
}

std::vector<const FlagOutline*> flagsOf(const CommandOutline& command) {
  std::vector<const FlagOutline*> out;
  for (const auto& topic : command.topics) {
    for (const auto& flag : topic.flags) { out.push_back(&flag); }
  }
  return out;
}

bool isFile(const std::string& value) { return value == "FILE"; }

/// What may stand where no flag does: commands, and words that a command has to choose from.
std::vector<std::string> wordsOf(const CommandOutline& command) {
  std::vector<std::string> out;
  for (const auto& below : command.commands) { out.push_back(below.name); }
  for (const auto& word : command.words) { out.insert(out.end(), word.offered.begin(), word.offered.end()); }
  return out;
}

// ---- bash

/// "'gpu-sandbox serve --nodes'|'gpu-sandbox serve --data'"
std::string pattern(const CommandOutline& command, const FlagOutline& flag) {
  std::string out;
  for (const auto& name : flag.names) {
    out += fmt::format("{}'{} {}'", out.empty() ? "" : "|", command.path, name);
  }
  return out;
}

std::string bashValues(const CommandOutline& command) {
  std::string out;
  for (const FlagOutline* flag : flagsOf(command)) {
    if (flag->value.empty()) { continue; }
    const auto choices = choicesOf(flag->value);
    const std::string what = isFile(flag->value) ? "compgen -f -- \"$word\""
                             : choices.empty()
                                 ? ""
                                 : fmt::format("compgen -W '{}' -- \"$word\"", fmt::join(choices, " "));
    out += fmt::format("    {}) {}; return ;;\n", pattern(command, *flag),
                       what.empty() ? "COMPREPLY=()" : fmt::format("mapfile -t COMPREPLY < <({})", what));
  }
  return out;
}

std::string bash(const CommandOutline& program) {
  std::string paths;
  std::string values;
  std::string words;
  for (const CommandOutline* command : allOf(program)) {
    if (command != &program) { paths += fmt::format("{}'{}'", paths.empty() ? "" : "|", command->path); }
    values += bashValues(*command);
    std::vector<std::string> flags;
    for (const FlagOutline* flag : flagsOf(*command)) {
      flags.insert(flags.end(), flag->names.begin(), flag->names.end());
    }
    words += fmt::format("    '{}') words='{}' flags='{}' ;;\n", command->path,
                         fmt::join(wordsOf(*command), " "), fmt::join(flags, " "));
  }
  return fmt::format(R"(# Completion for bash; in ~/.bashrc: source <({0} completion bash)
{1}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} path={0} words='' flags='' i
  # --flag=value comes as three words
  if [[ $word == = ]]; then word=''; elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in {2}) path+=" ${{COMP_WORDS[i]}}" ;; esac
  done
  case "$path $before" in
{3}  esac
  case "$path" in
{4}  esac
  if [[ $word == -* ]]; then words=$flags; fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -F {1} {0}
)",
                     program.name, functionOf(program), paths.empty() ? "''" : paths, values, words);
}

// ---- zsh

/// For a place between single quotes where `:`, `[` and `]` have a meaning.
std::string zshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == ':' || c == '[' || c == ']' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

/// What zsh is to offer for a value; a space where the choices are not known.
std::string zshChoices(const std::vector<std::string>& choices) {
  return choices.empty() ? " " : fmt::format("({})", fmt::join(choices, " "));
}

std::string zshAction(const std::string& value) {
  return isFile(value) ? "_files" : zshChoices(choicesOf(value));
}

std::string zshFlags(const CommandOutline& command) {
  std::string out;
  for (const FlagOutline* flag : flagsOf(command)) {
    for (const std::string& name : flag->names) {
      const char* const joined = flag->value.empty() ? "" : name.starts_with("--") ? "=" : "+";
      out += fmt::format(" \\\n    '{}{}[{}]", name, joined, zshText(sentenceOf(*flag)));
      if (!flag->value.empty()) {
        out += fmt::format(":{}:{}", zshText(flag->value), zshAction(flag->value));
      }
      out += "'";
    }
  }
  return out;
}

std::string zshCommands(const CommandOutline& command) {
  std::string names;
  std::string cases;
  for (const auto& below : command.commands) {
    names += fmt::format("\n    '{}:{}'", below.name, zshText(below.summary));
    cases += fmt::format("      {}) {} ;;\n", below.name, functionOf(below));
  }
  return fmt::format(R"(  case $state in
    command) local -a commands=({0})
      _describe command commands ;;
    argument) case $words[1] in
{1}      esac ;;
  esac
)",
                     names, cases);
}

std::string zsh(const CommandOutline& program) {
  std::string out = fmt::format(
      "#compdef {0}\n# Completion for zsh; in ~/.zshrc: source <({0} completion zsh)\n", program.name);
  for (const CommandOutline* command : allOf(program)) {
    out += fmt::format("{}() {{\n  local curcontext=$curcontext state line\n  _arguments -C{}",
                       functionOf(*command), zshFlags(*command));
    int place = 0;
    for (const WordOutline& word : command->words) {
      const std::string where = word.many ? "*" : std::to_string(++place);
      out += fmt::format(" \\\n    '{}:{}:{}'", where, zshText(word.name), zshChoices(word.offered));
    }
    if (!command->commands.empty()) {
      out += " \\\n    '1:command:->command' '*::argument:->argument'\n" + zshCommands(*command);
    } else {
      out += "\n";
    }
    out += "}\n";
  }
  return out + fmt::format("if [[ $funcstack[1] == {0} ]]; then {0} \"$@\"; else compdef {0} {1}; fi\n",
                           functionOf(program), program.name);
}

// ---- fish

std::string fishText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') { out += '\\'; }
    out += c;
  }
  return out;
}

/// True where the cursor is among the arguments of this command, and of none below it.
std::string fishCondition(const CommandOutline& command) {
  std::string out;
  std::string rest = command.path;
  for (std::size_t at = rest.find(' '); at != std::string::npos; at = rest.find(' ')) {
    rest.erase(0, at + 1);
    out += fmt::format("{}__fish_seen_subcommand_from {}", out.empty() ? "" : "; and ",
                       rest.substr(0, rest.find(' ')));
  }
  if (command.commands.empty()) { return out; }
  std::vector<std::string> below;
  for (const auto& one : command.commands) { below.push_back(one.name); }
  return out + fmt::format("{}not __fish_seen_subcommand_from {}", out.empty() ? "" : "; and ",
                           fmt::join(below, " "));
}

std::string fishFlag(const FlagOutline& flag) {
  std::string out;
  for (const std::string& name : flag.names) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  out += fmt::format(" -d '{}'", fishText(sentenceOf(flag)));
  if (flag.value.empty()) { return out; }
  if (isFile(flag.value)) { return out + " -rF"; }
  const auto choices = choicesOf(flag.value);
  return choices.empty() ? out + " -x" : out + fmt::format(" -xa '{}'", fmt::join(choices, " "));
}

std::string fish(const CommandOutline& program) {
  std::string out =
      fmt::format("# Completion for fish; in config.fish: {0} completion fish | source\ncomplete -c {0} -f\n",
                  program.name);
  for (const CommandOutline* command : allOf(program)) {
    const std::string head = fmt::format("complete -c {} -n '{}'", program.name, fishCondition(*command));
    for (const auto& below : command->commands) {
      out += fmt::format("{} -a {} -d '{}'\n", head, below.name, fishText(below.summary));
    }
    for (const WordOutline& word : command->words) {
      if (!word.offered.empty()) { out += fmt::format("{} -a '{}'\n", head, fmt::join(word.offered, " ")); }
    }
    for (const FlagOutline* flag : flagsOf(*command)) { out += head + fishFlag(*flag) + '\n'; }
  }
  return out;
}

}  // namespace

std::string completionScript(const CommandOutline& program, const std::string& shell) {
  return shell == "zsh" ? zsh(program) : shell == "fish" ? fish(program) : bash(program);
}

}  // namespace gs::process
