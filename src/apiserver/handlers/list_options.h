// The query of a list or watch, checked with the API server's words. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "apiserver/meta/answer.h"
#include "apiserver/registry/resources.h"

namespace gs::apiserver {

struct ListOptions {
  std::uint64_t limit = 0;  // 0: all
  std::string token;        // continue
  std::uint64_t exact = 0;  // 0: no certain revision is asked for
};

/// `now`: the newest revision. Error 400, 422 or (a revision that is still to come) 504.
[[nodiscard]] Answer<ListOptions> readListOptions(const Query& query, std::uint64_t now);
/// The revision that a watch begins at; 0: with what is there.
[[nodiscard]] Answer<std::uint64_t> readWatchOptions(const Query& query);
/// A whole number of a query. Error 400 in Go's words.
[[nodiscard]] Answer<std::int64_t> readInteger(const std::string& text);

}  // namespace gs::apiserver
