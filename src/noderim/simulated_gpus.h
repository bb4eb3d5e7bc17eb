// The GPUs of one node of a node file (docs/reference/node-file.md), read anew at each look: whoever changes
// the file makes a GPU sick.
#pragma once

#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "noderim/gpu_source.h"

namespace gs::noderim {

class SimulatedGpus final : public GpuSource {
 public:
  SimulatedGpus(std::string file, model::NodeName node) : file_{std::move(file)}, node_{std::move(node)} {}

  /// As the file has them now. Error NotFound: no such file, or no such node in it; Invalid: what is wrong in
  /// it.
  [[nodiscard]] Result<agent::Hardware> read() const;
  /// The same; an error is Fault::Kind::Failing.
  [[nodiscard]] agent::Look look() override;

 private:
  const std::string file_;
  const model::NodeName node_;
};

}  // namespace gs::noderim
