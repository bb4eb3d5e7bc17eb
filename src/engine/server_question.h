// ServerQuestion: asks the API server which Kubernetes it is, before anything is listed: filters are as of
// its kube-scheduler (Engine::setServer()). It asks until there is an answer; one that refuses is taken
// for the newest. A server that is upgraded while this process runs is not noticed: the differences that
// matter are few (docs/inside/filters.md), and are those of the newer one after the next start.
// A part of Informers. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "controller/parts.h"

namespace gs::engine {

class ServerQuestion final : public controller::Part {
 public:
  /// Called once, with the minor version, or nullopt: take it for the newest.
  using Known = std::function<void(std::optional<int> minor, Now now, kapi::Effects& out)>;

  ServerQuestion(controller::Parts& parts, Known known);

  void ask(Now now, kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return due_; }

  /// It was asked, and there is no answer yet.
  [[nodiscard]] bool open() const { return open_; }
  /// Why not; "" nobody answered yet, or all is well.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  void answered(std::optional<int> minor, Now now, kapi::Effects& out);

  const std::uint8_t owner_;
  const Known known_;
  bool open_ = false;
  std::uint64_t asked_ = 0;  // times
  int failures_ = 0;         // in a row
  std::optional<Mono> due_;
  std::string trouble_;
};

}  // namespace gs::engine
