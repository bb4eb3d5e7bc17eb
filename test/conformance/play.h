// Plays the table on a server, and compares what two of them answered.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "json/value.h"
#include "k8s/access.h"
#include "sandbox/serve/http_port.h"
#include "test/conformance/table.h"

namespace gs::conformance {

struct Sent {
  std::string method;
  std::string target;
  std::string content_type;  // of the body; "": no body
  std::string accept;
  std::string body;
};

struct Got {
  int code = 0;      // 0: no answer
  std::string body;  // without an answer: what happened
  std::vector<std::string> warnings;
};

/// One request, one answer. A watch is answered with the events of its time.
using Server = std::function<Got(const Sent&)>;
[[nodiscard]] Server overHttp(const k8s::Access& access);
/// In this process; a watch ends with the last event that is there.
[[nodiscard]] Server inProcess(sandbox::HttpPort& port);

/// What came of one step: {"code":..,"answer":..,"warnings":[..]}, normalised.
using Answers = std::vector<json::Value>;
/// Makes the case's namespace first. An `until` that never holds is an answer like others.
[[nodiscard]] Answers play(const Case& one, const Server& server);

/// The part of an answer that counts.
[[nodiscard]] json::Value compared(const Step& step, const json::Value& answer);
/// "" or how they differ, as far as the step is compared.
[[nodiscard]] std::string differ(const Step& step, const json::Value& a, const json::Value& b);

}  // namespace gs::conformance
