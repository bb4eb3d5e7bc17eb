#include "process/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/duration.h"
#include "process/process.h"

namespace gs::process {

namespace {

/// In the order in which CLI11 takes a vector: the last one first.
std::vector<std::string> forCli11(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  bool flags = true;  // none after "--"
  for (const auto& arg : arguments) {
    flags = flags && arg != "--";
    const bool is_empty = flags && arg.starts_with("--") && arg.find('=') == arg.size() - 1;
    out.push_back(is_empty ? arg.substr(0, arg.size() - 1) : arg);
    if (is_empty) { out.emplace_back(); }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// CLI11 reads "" as 0.
void refuseEmptyNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (!type.starts_with("INT") && !type.starts_with("UINT") && !type.starts_with("FLOAT")) { continue; }
    option->check(
        [](const std::string& text) { return text.empty() ? std::string{"a number is needed"} : ""; });
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    refuseEmptyNumbers(*command);
  }
}

}  // namespace

void parse(CLI::App& app, const std::vector<std::string>& arguments) {
  refuseEmptyNumbers(app);
  app.parse(forCli11(arguments));
}

void addDuration(CLI::App& app, const char* name, Duration& into, const char* help) {
  app.add_option_function<std::string>(
      name,
      [&into, name](const std::string& text) {
        const auto read = parseDuration(text);
        if (!read) { throw CLI::ValidationError(name, read.error().message); }
        into = *read;
      },
      help);
}

void addVersion(CLI::App& app, bool& wanted) {
  app.add_option_function<std::string>(
         "--version",
         [&wanted](const std::string& text) {
           static const std::set<std::string_view> kYes = {"", "raw", "1", "t", "T", "true", "TRUE", "True"};
           static const std::set<std::string_view> kNo = {"0", "f", "F", "false", "FALSE", "False"};
           wanted = kYes.contains(text);
           if (!wanted && !kNo.contains(text)) {
             throw CLI::ValidationError("--version", text + " is none of true, raw and false");
           }
         },
         "Print the version and quit")
      ->expected(0, 1);
}

void addElection(CLI::App& app, ElectionFlags& f) {
  app.add_option("--identity", f.config.identity,
                 "Name in the leader lease; default: host name and a random part");
  app.add_flag("--leader-elect,!--no-leader-elect", f.elect, "Decide only while holding the leader lease");
  addDuration(app, "--leader-elect-lease-duration", f.config.lease_duration,
              "How long others wait for a silent leader (5s)");
  addDuration(app, "--leader-elect-renew-deadline", f.config.renew_deadline,
              "A leader that could not renew for so long stops writing (3s)");
  addDuration(app, "--leader-elect-retry-period", f.config.retry_period,
              "Between two tries to take or renew the lease (500ms)");
}

Result<std::optional<kapi::Election::Config>> electionOf(ElectionFlags f, model::ObjectKey lease) {
  const bool ordered =
      f.config.retry_period < f.config.renew_deadline && f.config.renew_deadline < f.config.lease_duration;
  if (!ordered) {
    return fail(Code::Invalid,
                "--leader-elect-retry-period < --leader-elect-renew-deadline < --leader-elect-lease-duration "
                "must hold");
  }
  f.config.lease = std::move(lease);
  if (f.config.identity.empty()) { f.config.identity = hostName() + "_" + randomSeed().uuid(); }
  return f.elect ? std::optional{f.config} : std::nullopt;
}

}  // namespace gs::process
