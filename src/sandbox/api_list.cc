// Lists: options, selectors, pages.
#include <fmt/format.h>

#include <charconv>

#include "sandbox/api.h"
#include "sandbox/event_form.h"
#include "sandbox/list_options.h"

namespace gs::sandbox {
namespace {

/// Items of a built-in list carry no kind and apiVersion, those of custom resources do.
json::Value listed(const Resource& r, const json::Value& object) {
  if (r.custom) { return object; }
  json::Value copy = r.coreEvents() ? toCoreEvent(object) : object;
  copy.erase("kind");
  copy.erase("apiVersion");
  return copy;
}

/// Where a page begins: "<revision>/<ns>/<name of the last item before it>".
struct Page {
  std::uint64_t revision = 0;
  StoreKey after;
};

std::optional<Page> readToken(const Resource& r, const std::string& token) {
  Page page;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), page.revision);
  const auto slash = static_cast<std::size_t>(end - token.data());
  const auto second = token.find('/', slash + 1);
  if (error != std::errc{} || slash >= token.size() || token[slash] != '/' || second == std::string::npos) {
    return std::nullopt;
  }
  page.after = {r.storeId(), token.substr(slash + 1, second - slash - 1), token.substr(second + 1)};
  return page;
}

constexpr const char* kExpired =
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
    "the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were "
    "created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list.";

}  // namespace

Api::Result Api::list(const Call& call) const {
  const Resource& r = call.resource();
  const Route& route = call.route;
  auto labels = Selector::labels(call.query("labelSelector"));
  if (!labels) { return tl::unexpected(labels.error()); }
  auto fields = Selector::fields(call.query("fieldSelector"), r.id());
  if (!fields) { return tl::unexpected(fields.error()); }
  const auto options = readListOptions(route.query, store_.revision());
  if (!options) { return tl::unexpected(options.error()); }
  std::uint64_t revision = store_.revision();
  StoreKey after{r.storeId(), "", ""};
  if (!options->token.empty()) {
    const auto page = readToken(r, options->token);
    if (!page) { return badRequest("invalid continue token: continue key is not valid: " + options->token); }
    revision = page->revision;
    after = page->after;
    if (revision < store_.oldest()) {
      ApiError error{410, "Expired", kExpired, {}, {}, false};
      error.metadata =
          json::Object{{"continue", fmt::format("{}/{}/{}", store_.revision(), after.ns, after.name)}};
      return tl::unexpected(std::move(error));
    }
  }
  if (options->exact != 0 && options->exact != store_.revision()) {
    return expired("The resourceVersion for the provided list is too old.");
  }
  json::Array items;
  std::string next;
  const auto [begin, end] = store_.range(r.storeId());
  StoreKey last;
  std::int64_t remaining = 0;
  for (auto it = begin; it != end; ++it) {
    if (!options->token.empty() && it->first <= after) { continue; }
    if (!route.ns.empty() && it->first.ns != route.ns) { continue; }
    if (!labels->matches(*it->second.object) || !fields->matches(*it->second.object)) { continue; }
    if (options->limit > 0 && items.size() == options->limit) {
      if (remaining++ == 0) { next = fmt::format("{}/{}/{}", revision, last.ns, last.name); }
      continue;
    }
    items.push_back(listed(r, *it->second.object));
    last = it->first;
  }
  json::Object meta{{"resourceVersion", std::to_string(revision)}};
  if (r.custom || !next.empty()) { meta["continue"] = next; }
  if (!next.empty() && labels->everything() && fields->everything()) {
    meta["remainingItemCount"] = remaining;
  }
  return Response{200, json::Object{{"kind", r.list_kind.empty() ? r.kind + "List" : r.list_kind},
                                    {"apiVersion", r.apiVersion()},
                                    {"metadata", std::move(meta)},
                                    {"items", std::move(items)}}};
}

}  // namespace gs::sandbox
