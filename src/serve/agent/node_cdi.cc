#include "serve/agent/node_cdi.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "enforce/injection.h"
#include "enforce/told_file.h"

namespace gs::serve {
namespace {

constexpr std::size_t kMostBrokenSaid = 20;
constexpr unsigned kToldMode = 0644;  // container runtimes need not be root

}  // namespace

NodeCdi::NodeCdi(Options options) : options_{std::move(options)}, directories_{options_.directories} {}

void NodeCdi::look() {
  auto index = directories_.look();
  if (!index) { return; }
  index_ = std::make_shared<const enforce::cdi::Index>(*std::move(index));
  sayBroken();
}

void NodeCdi::sayBroken() {
  std::set<std::string> broken{index_->broken().begin(), index_->broken().end()};
  std::size_t said = 0;
  for (const std::string& what : broken) {
    if (said_.contains(what)) { continue; }
    if (said++ == kMostBrokenSaid) { break; }
    log::warn("CDI devices of this node cannot be used", {{"why", what}});
  }
  said_ = std::move(broken);
}

enforce::cdi::Stats NodeCdi::statNodes(const enforce::NodeRecord& record, bool injects_cdi) {
  if (of_index_ != index_ || of_injecting_ != injects_cdi || of_devices_ != record.devices) {
    nodes_ = enforce::nodesToStat(record, *index_, injects_cdi);
    of_index_ = index_;
    of_injecting_ = injects_cdi;
    of_devices_ = record.devices;
  }
  return noderim::statNodes(nodes_, options_.host_root);
}

bool NodeCdi::hasToldFile() const { return index_->find(enforce::toldDevice(0)).has_value(); }

Status putToldFile(const std::string& directory) {
  const std::string path = directory + "/" + enforce::kToldFile;
  const std::string text = enforce::toldFile();
  if (const auto there = readFile(path); there && *there == text) { return {}; }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return fail(Code::Unavailable, fmt::format("cannot make {}: {}", directory, error.message()));
  }
  return replaceFile(path, text, kToldMode);
}

}  // namespace gs::serve
