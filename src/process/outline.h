// A command line as plain values, read off the CLI11 description by which it is parsed: --help, completion
// and the man page are made of these, so that none of them can say anything else than what is taken.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gs::process {

struct FlagOutline {
  std::vector<std::string>
      names;           // "--metrics-address", "--bind-address"; what says no to a flag ("--no-scheduler") too
  std::string value;   // "FILE", "ids|uuid"; "": it takes none, or true and false behind a `=`
  std::string preset;  // what holds where it is not given; "": nothing to say
  std::string help;
};

/// The topic of --help and --version, which every command has.
inline constexpr const char* kGeneral = "General";

struct TopicOutline {
  std::string title;
  std::vector<FlagOutline> flags;
};

/// What stands on the command line by its place.
struct WordOutline {
  std::string name;   // "node"
  std::string among;  // "bash|zsh|fish"; "": anything
  std::string help;
  bool needed = true;
  bool many = false;
  std::vector<std::string> offered{};  // by shells
};

struct CommandOutline {
  std::string name;     // "gpu", of `gpu-sandbox gpu fail`
  std::string path;     // "gpu-sandbox gpu"
  std::string summary;  // a sentence
  std::vector<WordOutline> words;
  std::vector<TopicOutline> topics;  // as they were described; help and version come last
  std::vector<CommandOutline> commands;
  bool needs_command = false;
};

/// With all that is below it, but for commands that are not to be shown.
[[nodiscard]] CommandOutline outlineOf(const CLI::App& app);

/// The words of "ids|uuid"; none of "FILE".
[[nodiscard]] std::vector<std::string> choicesOf(const std::string& value);
/// "a, b or c".
[[nodiscard]] std::string oneOf(const std::vector<std::string>& among);
/// What is said of a flag, its preset included.
[[nodiscard]] std::string sentenceOf(const FlagOutline& flag);

}  // namespace gs::process
