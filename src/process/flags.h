// Flags that several programs have. The App and what is read into must outlive the parsing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kapi/election.h"

namespace CLI {
class App;
}

namespace gs::process {

/// Parses a program's arguments as Go's pflag would: `--flag=`, as templates write it, is an empty value, and none for a number.
/// (CLI11 would take the next argument for it.) Throws CLI::ParseError.
void parse(CLI::App& app, const std::vector<std::string>& arguments);

/// A length of time as Go writes it.
void addDuration(CLI::App& app, const char* name, Duration& into, const char* help);

/// --version, as pflag takes it: `--version`, `--version=true` and `--version=raw` want it, `--version=false` does not.
void addVersion(CLI::App& app, bool& wanted);

struct ElectionFlags {
  bool elect = true;
  kapi::Election::Config config;
};
void addElection(CLI::App& app, ElectionFlags& flags);
/// The election as the flags want it; nullopt: none. Error Invalid: they contradict each other.
[[nodiscard]] Result<std::optional<kapi::Election::Config>> electionOf(ElectionFlags flags,
                                                                       model::ObjectKey lease);

}  // namespace gs::process
