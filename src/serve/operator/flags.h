// The flags of gkm-operator: its ancestor's, which manifests have, and what follows from them.
// What is read into must outlive the parsing.
#pragma once

#include <string>
#include <vector>

#include "k8s/kubeconfig.h"
#include "process/command.h"
#include "process/flags.h"

namespace gs::serve {

struct OperatorFlags {
  std::string health = ":8081";                // --health-probe-bind-address
  std::string metrics = "0";                   // --metrics-bind-address
  process::LogFlags log{.level = ""};          // "": what GO_LOG says
  std::vector<std::string> without_meaning{};  // those that were given

  /// Where /healthz, /readyz and /metrics are; "" nowhere.
  [[nodiscard]] std::string pages() const { return addressOf(health); }
  /// Where /metrics is besides; "" nowhere, or there already.
  [[nodiscard]] std::string metricsAddress() const;
  [[nodiscard]] process::LogFlags logOf(const k8s::Surroundings& surroundings) const {
    return process::goLogOf(log, surroundings);
  }

 private:
  /// "0" is none, as controller-runtime has it.
  [[nodiscard]] static std::string addressOf(const std::string& text);
};
/// Those above, and those that are taken and mean nothing here.
void addOperator(process::Command command, OperatorFlags& flags);

}  // namespace gs::serve
