#include "noderim/simulated_gpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/simulated.h"
#include "base/files.h"
#include "json/value.h"
#include "kapi/node_file.h"
#include "yaml/yaml.h"

namespace gs::noderim {
namespace {

Result<std::vector<kapi::SimNode>> nodesIn(const std::string& file) {
  const auto text = readFile(file);
  if (!text) { return tl::unexpected(text.error()); }
  const auto documents = yaml::toJson(*text);
  if (!documents) { return fail(documents.error().code, file + ": " + documents.error().message); }
  if (documents->size() != 1) {
    return fail(Code::Invalid, fmt::format("{} has {} documents; write one", file, documents->size()));
  }
  const auto value = json::parse(documents->front());
  if (!value) { return fail(value.error().code, file + ": " + value.error().message); }
  auto nodes = kapi::readNodeFile(*value);
  if (!nodes) { return fail(nodes.error().code, file + ": " + nodes.error().message); }
  return nodes;
}

}  // namespace

Result<agent::Hardware> SimulatedGpus::read() const {
  const auto nodes = nodesIn(file_);
  if (!nodes) { return tl::unexpected(nodes.error()); }
  const auto is_it = [&](const kapi::SimNode& node) { return node.name == node_; };
  const auto it = std::find_if(nodes->begin(), nodes->end(), is_it);
  if (it != nodes->end()) { return agent::hardwareOf(*it); }
  std::string names;
  for (const auto& node : *nodes) { names += (names.empty() ? "" : ", ") + node.name.text; }
  return fail(Code::NotFound, fmt::format("{} has no node {}; it has {}; --node-name says which", file_,
                                          node_.text, names.empty() ? "none" : names));
}

agent::Look SimulatedGpus::look() {
  auto hardware = read();
  if (hardware) { return *std::move(hardware); }
  return tl::unexpected(agent::Fault{agent::Fault::Kind::Failing, hardware.error().message});
}

}  // namespace gs::noderim
