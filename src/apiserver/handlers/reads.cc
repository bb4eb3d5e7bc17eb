#include "apiserver/handlers/reads.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "apiserver/handlers/list_options.h"
#include "apiserver/meta/event_form.h"
#include "apiserver/meta/selectors.h"

namespace gs::apiserver {
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

/// Collects a page of what it is shown, in order.
class Pager {
 public:
  Pager(const Resource& r, const std::string& ns, const Selector& labels, const Selector& fields,
        std::uint64_t limit)
      : r_{r}, ns_{ns}, labels_{labels}, fields_{fields}, limit_{limit} {}

  void show(const StoreKey& key, const json::Value& object) {
    if (!ns_.empty() && key.ns != ns_) { return; }
    if (!labels_.matches(object) || !fields_.matches(object)) { return; }
    if (limit_ > 0 && items.size() == limit_) {
      ++remaining;
      return;
    }
    items.push_back(listed(r_, object));
    last = key;
  }

  json::Array items;
  StoreKey last;  // of the items
  std::int64_t remaining = 0;

 private:
  const Resource& r_;
  const std::string& ns_;
  const Selector& labels_;
  const Selector& fields_;
  const std::uint64_t limit_;
};

Refused tokenTooOld(const StoreKey& after, std::uint64_t now) {
  ApiError error{410, "Expired", kExpired, {}, {}, false};
  error.metadata = json::Object{{"continue", fmt::format("{}/{}/{}", now, after.ns, after.name)}};
  return Refused{std::move(error)};
}

/// Where a list begins, and as of when.
struct Span {
  std::uint64_t revision = 0;
  StoreKey after;
  bool continues = false;  // after `after`
};

Answer<Span> spanOf(const Store& store, const Resource& r, const ListOptions& options) {
  Span span{store.revision(), {r.storeId(), "", ""}, !options.token.empty()};
  if (span.continues) {
    const auto page = readToken(r, options.token);
    if (!page) { return badRequest("invalid continue token: continue key is not valid: " + options.token); }
    span.revision = page->revision;
    span.after = page->after;
    if (span.revision < store.oldest() || span.revision > store.revision()) {
      return tokenTooOld(span.after, store.revision());
    }
  } else if (options.exact != 0) {
    if (options.exact < store.oldest()) {
      return expired("The resourceVersion for the provided list is too old.");
    }
    span.revision = options.exact;
  }
  return span;
}

}  // namespace

Handled get(const Store& store, const Call& call) {
  const auto* found = stored(store, call);
  if (found == nullptr) { return notFound(call.resource().subject(), call.route.name); }
  return Response{200, shown(call.resource(), *found->object)};
}

Handled list(const Store& store, const Call& call) {
  const Resource& r = call.resource();
  auto labels = Selector::labels(call.query("labelSelector"));
  if (!labels) { return tl::unexpected(labels.error()); }
  auto fields = Selector::fields(call.query("fieldSelector"), r.id());
  if (!fields) { return tl::unexpected(fields.error()); }
  const auto options = readListOptions(call.route.query, store.revision());
  if (!options) { return tl::unexpected(options.error()); }
  const auto span = spanOf(store, r, *options);
  if (!span) { return tl::unexpected(span.error()); }
  Pager pager{r, call.route.ns, *labels, *fields, options->limit};
  if (span->revision == store.revision()) {
    const auto [begin, end] = store.range(r.storeId());
    for (auto it = begin; it != end; ++it) {
      if (!span->continues || span->after < it->first) { pager.show(it->first, *it->second.object); }
    }
  } else {
    for (const auto& [key, object] : store.asOf(r.storeId(), span->revision)) {
      if (!span->continues || span->after < key) { pager.show(key, *object); }
    }
  }
  json::Object meta{{"resourceVersion", std::to_string(span->revision)}};
  const std::string next = pager.remaining == 0
                               ? std::string{}
                               : fmt::format("{}/{}/{}", span->revision, pager.last.ns, pager.last.name);
  if (r.custom || !next.empty()) { meta["continue"] = next; }
  if (!next.empty() && labels->everything() && fields->everything()) {
    meta["remainingItemCount"] = pager.remaining;
  }
  return Response{200, json::Object{{"kind", r.list_kind.empty() ? r.kind + "List" : r.list_kind},
                                    {"apiVersion", r.apiVersion()},
                                    {"metadata", std::move(meta)},
                                    {"items", std::move(pager.items)}}};
}

}  // namespace gs::apiserver
