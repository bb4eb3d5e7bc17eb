// NodeCdi: the CDI devices of this node for who answers the container runtime: the files as they are now,
// the device nodes of the host that are needed beside them, and our own file among the others
// (enforce/told_file.h). What is broken in the files of others is logged once. One thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "enforce/enforcer.h"
#include "noderim/cdi_dirs.h"

namespace gs::serve {

class NodeCdi {
 public:
  struct Options {
    std::vector<std::string> directories;  // later ones win
    std::string host_root{};  // where the host's /dev is seen: "/host"; "" it is this process's own
  };
  explicit NodeCdi(Options options);

  /// A stat for each file; what changed is read.
  void look();
  /// As at the last look; never null.
  [[nodiscard]] const enforce::IndexPtr& index() const { return index_; }
  /// As they are now. Which ones: as the last look had it, and the record.
  [[nodiscard]] enforce::cdi::Stats statNodes(const enforce::NodeRecord& record, bool injects_cdi);
  [[nodiscard]] bool hasToldFile() const;

 private:
  void sayBroken();

  const Options options_;
  noderim::CdiDirs directories_;
  enforce::IndexPtr index_ = std::make_shared<const enforce::cdi::Index>();
  std::set<std::string> said_;  // what was broken
  // For which the nodes were found:
  enforce::IndexPtr of_index_;
  std::vector<enforce::NodeDevice> of_devices_;
  bool of_injecting_ = false;
  std::vector<std::string> nodes_;
};

/// Our file is in `directory` and is as it should be; else it is written, as a whole. Error Unavailable:
/// names the file.
[[nodiscard]] Status putToldFile(const std::string& directory);

}  // namespace gs::serve
