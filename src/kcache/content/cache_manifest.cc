#include "kcache/content/cache_manifest.h"

namespace gs::kcache {
namespace {

// ---- printing

void setText(json::Object& out, std::string_view key, const std::string& text) {
  if (!text.empty()) { out.set(key, text); }
}
void setNumber(json::Object& out, std::string_view key, std::int64_t number) {
  if (number != 0) { out.set(key, number); }
}

json::Value printed(const std::string& text) { return text; }
json::Value printed(const TritonEntry& entry);
json::Value printed(const BinaryEntry& entry);
json::Value printed(const AotEntry& entry);
json::Value printed(const VllmEntry& entry);

template <class Entry>
json::Value printedList(const std::vector<Entry>& entries) {
  json::Array out;
  for (const Entry& one : entries) { out.push_back(printed(one)); }
  return out;
}
template <class Entry>
void setList(json::Object& out, std::string_view key, const std::vector<Entry>& entries) {
  if (!entries.empty()) { out.set(key, printedList(entries)); }
}

json::Value printed(const TritonEntry& entry) {
  const Kernel& kernel = entry.kernel;
  json::Object out{{"hash", kernel.hash}};
  setText(out, "dummy_key", entry.dummy_key);
  setNumber(out, "ptx_version", kernel.ptx_version);
  setNumber(out, "num_stages", kernel.num_stages);
  setNumber(out, "num_warps", kernel.num_warps);
  if (kernel.debug) { out.set("debug", true); }
  out.set("backend", kernel.target.backend);
  out.set("arch", kernel.target.arch);
  out.set("warp_size", kernel.target.warp_size);
  return out;
}

json::Value printed(const BinaryEntry& entry) {
  json::Object out{
      {"rank", entry.rank}, {"prefix", entry.prefix}, {"artifact_count", entry.artifact_names.size()}};
  setList(out, "artifact_names", entry.artifact_names);
  setText(out, "code_hash", entry.code_hash);
  setText(out, "config_hash", entry.config_hash);
  setText(out, "compiler_hash", entry.compiler_hash);
  setText(out, "cache_save_format", entry.save_format);
  setText(out, "target_device", entry.target_device);
  if (!entry.env.empty()) { out.set("env", entry.env); }
  return out;
}

json::Value printed(const AotEntry& entry) {
  return json::Object{{"hash", entry.hash},
                      {"rank", entry.rank},
                      {"model_file", entry.model_file},
                      {"file_size", entry.file_size}};
}

json::Value printed(const VllmEntry& entry) {
  json::Object out{{"vllmHash", entry.hash}, {"cacheFormat", entry.format}};
  setList(out, "triton", entry.triton);
  setList(out, "binary", entry.binary);
  setList(out, "aot_compile", entry.aot);
  return out;
}

// ---- reading

std::string textOf(const json::Value& value) { return std::string{value.str()}; }

template <class Entry>
std::vector<Entry> listOf(const json::Value& list, Entry (*one)(const json::Value&)) {
  std::vector<Entry> out;
  out.reserve(list.items().size());
  for (const json::Value& value : list.items()) { out.push_back(one(value)); }
  return out;
}

TritonEntry tritonEntryOf(const json::Value& value) {
  return {
      .kernel = {.hash = textOf(value["hash"]),
                 .ptx_version = value["ptx_version"].intOr(0),
                 .num_stages = value["num_stages"].intOr(0),
                 .num_warps = value["num_warps"].intOr(0),
                 .debug = value["debug"].boolOr(false),
                 .target = {textOf(value["backend"]), archOf(value["arch"]), value["warp_size"].intOr(0)}},
      .dummy_key = textOf(value["dummy_key"])};
}

BinaryEntry binaryEntryOf(const json::Value& value) {
  return {.rank = textOf(value["rank"]),
          .prefix = textOf(value["prefix"]),
          .artifact_names = listOf<std::string>(value["artifact_names"], &textOf),
          .code_hash = textOf(value["code_hash"]),
          .config_hash = textOf(value["config_hash"]),
          .compiler_hash = textOf(value["compiler_hash"]),
          .save_format = textOf(value["cache_save_format"]),
          .target_device = textOf(value["target_device"]),
          .env = value["env"].members()};
}

AotEntry aotEntryOf(const json::Value& value) {
  return {textOf(value["hash"]), textOf(value["rank"]), textOf(value["model_file"]),
          value["file_size"].intOr(0)};
}

VllmEntry vllmEntryOf(const json::Value& value) {
  return {.hash = textOf(value["vllmHash"]),
          .format = textOf(value["cacheFormat"]),
          .triton = listOf<TritonEntry>(value["triton"], &tritonEntryOf),
          .binary = listOf<BinaryEntry>(value["binary"], &binaryEntryOf),
          .aot = listOf<AotEntry>(value["aot_compile"], &aotEntryOf)};
}

}  // namespace

Result<CacheManifest> parseCacheManifest(std::string_view text) {
  const auto value = json::parse(text);
  if (!value) { return fail(Code::Invalid, "the cache's manifest.json: " + value.error().message); }
  if ((*value)["triton"].isArray()) {
    return CacheManifest{.type = CacheType::Triton,
                         .triton = listOf<TritonEntry>((*value)["triton"], &tritonEntryOf)};
  }
  if ((*value)["vllm"].isArray()) {
    return CacheManifest{.type = CacheType::Vllm, .vllm = listOf<VllmEntry>((*value)["vllm"], &vllmEntryOf)};
  }
  return fail(Code::Invalid, "the cache's manifest.json has neither a list 'triton' nor a list 'vllm'");
}

std::string printCacheManifest(const CacheManifest& manifest) {
  const bool is_triton = manifest.type == CacheType::Triton;
  return json::printPretty(
      json::Object{{std::string{nameOf(manifest.type)},
                    is_triton ? printedList(manifest.triton) : printedList(manifest.vllm)}},
      2);
}

Targets targetsOf(const CacheManifest& manifest) {
  Targets out;
  for (const TritonEntry& one : manifest.triton) { out.insert(one.kernel.target); }
  for (const VllmEntry& entry : manifest.vllm) {
    for (const TritonEntry& one : entry.triton) { out.insert(one.kernel.target); }
    for (const BinaryEntry& one : entry.binary) {
      out.insert({std::string{tritonBackend(one.target_device)}, "", 0});
    }
  }
  return precise(out);
}

}  // namespace gs::kcache
