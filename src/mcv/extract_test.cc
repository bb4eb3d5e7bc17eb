#include "mcv/extract.h"

#include <gtest/gtest.h>

#include <map>

namespace gs::mcv {
namespace {

// The variables of each program, in its own order: triton/knobs.py, vllm/envs.py.
TEST(DefaultFolder, IsWhereTheProgramItselfLooks) {
  struct Row {
    kcache::CacheType type;
    std::map<std::string, std::string> variables;
    const char* folder;
  };
  constexpr auto kTriton = kcache::CacheType::Triton;
  constexpr auto kVllm = kcache::CacheType::Vllm;
  const Row table[] = {
      {kTriton, {}, "/tmp/.triton/cache"},
      {kTriton, {{"HOME", "/h"}}, "/h/.triton/cache"},
      {kTriton, {{"HOME", "/h"}, {"TRITON_HOME", "/t"}}, "/t/.triton/cache"},
      {kTriton, {{"TRITON_CACHE_DIR", "/c"}, {"TRITON_HOME", "/t"}}, "/c"},
      {kTriton, {{"HOME", "/h"}, {"TRITON_CACHE_DIR", " "}, {"TRITON_HOME", ""}}, "/h/.triton/cache"},
      {kTriton, {{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"VLLM_CACHE_ROOT", "/v"}}, "/h/.triton/cache"},
      {kVllm, {}, "/tmp/.cache/vllm"},
      {kVllm, {{"HOME", "/h"}}, "/h/.cache/vllm"},
      {kVllm, {{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}, "/x/vllm"},
      {kVllm, {{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"VLLM_CACHE_ROOT", "/v"}}, "/v"},
      {kVllm, {{"HOME", "/h"}, {"VLLM_CACHE_ROOT", "~/v"}}, "/h/v"},
      {kVllm, {{"HOME", "/h"}, {"XDG_CACHE_HOME", "~/x"}}, "/h/x/vllm"},
      {kVllm, {{"HOME", "/h"}, {"VLLM_CACHE_ROOT", "~other"}}, "~other"},
      {kVllm, {{"HOME", "/h"}, {"TRITON_CACHE_DIR", "/c"}, {"TRITON_HOME", "/t"}}, "/h/.cache/vllm"},
  };
  for (const Row& row : table) {
    EXPECT_EQ(defaultFolder(row.type,
                            [&](const char* name) -> std::optional<std::string> {
                              const auto it = row.variables.find(name);
                              return it == row.variables.end() ? std::nullopt : std::optional{it->second};
                            }),
              row.folder);
  }
}

}  // namespace
}  // namespace gs::mcv
