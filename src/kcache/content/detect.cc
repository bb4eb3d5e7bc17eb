#include "kcache/content/detect.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kcache/content/findings.h"
#include "kcache/content/triton_files.h"
#include "kcache/content/vllm_files.h"
#include "kcache/content/wrong_level.h"

namespace gs::kcache {
namespace {

/// What went wrong, and the notes: they are why nothing counted.
std::string withNotes(std::string message, const Findings& findings) {
  constexpr std::size_t kMostSaid = 8;
  const auto notes = findings.notes();
  for (std::size_t i = 0; i < std::min(notes.size(), kMostSaid); ++i) { message += "; " + notes[i]; }
  if (notes.size() > kMostSaid) { message += fmt::format("; and {} more", notes.size() - kMostSaid); }
  return message;
}

tl::unexpected<Error> noCache(const Findings& vllm, const Findings& triton) {
  return fail(
      Code::NotFound,
      withNotes(withNotes("there is no cache in it: a Triton cache has <key>/<kernel>.json with a hash "
                          "beside __grp__<kernel>.json, a vLLM cache torch_compile_cache/<hash>/rank_0_0 "
                          "or torch_aot_compile/<hash>/rank_0_0/model",
                          vllm),
                triton));
}

DetectedCache foundVllm(FoundVllm found, const Findings& findings) {
  DetectedCache out{.manifest = {.type = CacheType::Vllm},
                    .targets = precise(findings.targets),
                    .below = std::move(found.below),
                    .mount_subpath = std::move(found.mount_subpath),
                    .made_at = std::move(found.made_at),
                    .notes = findings.notes()};
  out.manifest.vllm = std::move(found.entries);
  out.entry_count = static_cast<std::int64_t>(out.manifest.vllm.size());
  return out;
}

DetectedCache foundTriton(const std::vector<FoundKernel>& kernels, const Findings& findings) {
  DetectedCache out{.manifest = {.type = CacheType::Triton},
                    .targets = precise(findings.targets),
                    .notes = findings.notes()};
  out.manifest.triton = entriesOf(kernels);
  out.entry_count = static_cast<std::int64_t>(out.manifest.triton.size());
  return out;
}

bool isAtTheTop(const FoundKernel& kernel) { return kernel.folder.size() == 1; }

Result<DetectedCache> detectIn(const Files& files, const ReadText& read, std::string_view folder) {
  Findings of_vllm{read};
  if (auto found = vllmIn(files, folder.substr(folder.rfind('/') + 1), of_vllm); !found.entries.empty()) {
    return foundVllm(std::move(found), of_vllm);
  }
  Findings of_triton{read};
  const auto kernels = kernelsIn(files, of_triton);
  if (std::none_of(kernels.begin(), kernels.end(), &isAtTheTop)) {
    if (auto wrong = wrongVllmLevel(files, folder)) { return fail(Code::Invalid, std::move(*wrong)); }
  }
  if (auto wrong = wrongTritonLevel(kernels, folder, of_triton)) {
    return fail(Code::Invalid, withNotes(std::move(*wrong), of_vllm));
  }
  if (kernels.empty()) { return noCache(of_vllm, of_triton); }
  return foundTriton(kernels, of_triton);
}

}  // namespace

Result<DetectedCache> detectCache(std::vector<CacheFile> files, const ReadText& read,
                                  std::string_view folder) {
  std::sort(files.begin(), files.end(),
            [](const CacheFile& a, const CacheFile& b) { return a.path < b.path; });
  Files items;
  std::int64_t bytes = 0;
  for (const CacheFile& file : files) {
    items.push_back({&file, partsOf(file.path)});
    bytes += file.size;
  }
  auto out = detectIn(items, read, folder);
  if (out) { out->size_bytes = bytes; }
  return out;
}

}  // namespace gs::kcache
