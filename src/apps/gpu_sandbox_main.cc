// gpu-sandbox: a whole GPU cluster in one process. `demo` plays the usage guide's examples in it and checks every output.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

#include "kapi/node_file.h"
#include "sandbox/demo.h"
#include "yaml/yaml.h"

namespace gs {
namespace {

constexpr std::size_t kMaxNodeFile = std::size_t{4} << 20;

/// Error: names the file and what is wrong in it.
Result<std::vector<kapi::SimNode>> nodesFrom(const std::string& path) {
  if (path.empty()) { return kapi::defaultNodes(); }
  std::ifstream file{path, std::ios::binary};
  if (!file) { return fail(Code::NotFound, fmt::format("--nodes={}: cannot read the file", path)); }
  std::ostringstream text;
  text << file.rdbuf();
  const auto documents = yaml::toJson(text.str(), kMaxNodeFile);
  if (!documents) {
    return fail(Code::Invalid, fmt::format("--nodes={}: {}", path, documents.error().message));
  }
  if (documents->size() != 1) {
    return fail(Code::Invalid, fmt::format("--nodes={}: write one YAML document", path));
  }
  const auto value = json::parse(documents->front());
  if (!value) { return tl::unexpected(value.error()); }
  return kapi::readNodeFile(*value);
}

int run(int argc, char** argv) {
  CLI::App app{"A GPU cluster in one process: API server, nodes and scheduler, without Docker or Kubernetes.",
               "gpu-sandbox"};
  app.require_subcommand(1);
  CLI::App* demo = app.add_subcommand("demo", "Plays the usage guide's examples and checks what comes out");
  CLI::App* nodes =
      app.add_subcommand("nodes", "Reads a node file and prints its nodes, or says what is wrong");
  std::string node_file;
  nodes->add_option("--nodes", node_file, "A node file; without it the two built-in nodes");
  CLI11_PARSE(app, argc, argv);
  if (demo->parsed()) { return sandbox::runDemo(std::cout) ? 0 : 1; }
  const auto read = nodesFrom(node_file);
  if (!read) {
    std::cerr << read.error().message << '\n';
    return 2;
  }
  for (const auto& node : *read) {
    std::cout << fmt::format("{}: {} GPUs\n", node.name.text, node.devices.size());
  }
  return 0;
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) { return gs::run(argc, argv); }
