// Readiness: whether a program can do its work now, and what it goes by, a line for each check: the page
// /readyz of every program, and the same for parts of one. Checks stand in the order in which they were
// noted.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gs {

struct Readiness {
  struct Check {
    std::string what;   // "cache/pods"
    std::string state;  // "ok", or for people what is not
    friend bool operator==(const Check&, const Check&) = default;
  };
  bool ready = true;
  std::vector<Check> checks{};

  /// It goes on without that. `state` "": ok.
  void note(std::string_view what, std::string state) {
    checks.push_back({std::string{what}, state.empty() ? "ok" : std::move(state)});
  }
  /// It is ready only while that is fine. `trouble` goes first; `yet` is said while it is not fine and nobody
  /// says why.
  void need(std::string_view what, bool is_fine, std::string trouble, const char* yet = "not there yet") {
    ready = ready && is_fine;
    note(what, trouble.empty() && !is_fine ? yet : std::move(trouble));
  }
  /// Of something else in the same program: ready when both are.
  void add(Readiness more) {
    ready = ready && more.ready;
    for (Check& check : more.checks) { checks.push_back(std::move(check)); }
  }
  /// "pods: ok\n" for each.
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& [what, state] : checks) { out.append(what).append(": ").append(state).append("\n"); }
    return out;
  }
};

}  // namespace gs
