#include "json/read_exact.h"

#include <fmt/core.h>

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <vector>

#include "json/members.h"

namespace gs::json {
namespace {

template <class Text>
std::string_view viewOf(const Text& text) {
  return {text.data(), text.size()};
}

/// Builds the Value while the library's parser walks the text: finished values wait on one stack, and the end
/// of an array or object takes its own from the top.
class Builder {
 public:
  using error_code = boost::json::error_code;
  using Text = boost::json::string_view;
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_object_size = max_array_size;
  static constexpr std::size_t max_string_size = max_array_size;
  static constexpr std::size_t max_key_size = max_array_size;

  Value take() { return std::move(values_.back()); }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_array_end(std::size_t n, error_code&) {
    const auto first = values_.end() - static_cast<std::ptrdiff_t>(n);
    Array array{std::make_move_iterator(first), std::make_move_iterator(values_.end())};
    values_.erase(first, values_.end());
    values_.emplace_back(std::move(array));
    return true;
  }
  bool on_object_end(std::size_t n, error_code&) {
    Members members{n};
    for (std::size_t i = 0; i < n; ++i) {
      members.add(keys_[keys_.size() - n + i], std::move(values_[values_.size() - n + i]));
    }
    values_.resize(values_.size() - n);
    values_.emplace_back(members.take());
    keys_.resize(keys_.size() - n);
    return true;
  }
  bool on_key_part(Text s, std::size_t, error_code&) { return keep(s); }
  bool on_key(Text s, std::size_t, error_code&) {
    keys_.push_back(whole(s));
    return true;
  }
  bool on_string_part(Text s, std::size_t, error_code&) { return keep(s); }
  bool on_string(Text s, std::size_t, error_code&) {
    values_.emplace_back(whole(s));
    return true;
  }
  bool on_number_part(Text s, error_code&) { return keep(s); }
  bool on_int64(std::int64_t i, Text, error_code&) { return number(static_cast<long long>(i)); }
  bool on_uint64(std::uint64_t u, Text, error_code&) { return number(static_cast<unsigned long long>(u)); }
  /// The library's own conversion is off by a digit now and then; the standard's is exact.
  bool on_double(double approximate, Text s, error_code& ec) {
    const std::string text = whole(s);
    double exact = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
    if (error == std::errc::result_out_of_range) {
      if (std::abs(approximate) > 1) {
        ec = boost::json::make_error_code(boost::json::error::exponent_overflow);
        return false;
      }
      exact = 0;
    }
    return number(exact);
  }
  bool on_bool(bool b, error_code&) {
    values_.emplace_back(b);
    return true;
  }
  bool on_null(error_code&) {
    values_.emplace_back();
    return true;
  }
  bool on_comment_part(Text, error_code&) { return true; }
  bool on_comment(Text, error_code&) { return true; }

 private:
  bool keep(Text s) {
    part_.append(s.data(), s.size());
    return true;
  }
  template <class T>
  bool number(T n) {
    part_.clear();
    values_.emplace_back(n);
    return true;
  }
  std::string whole(Text s) {
    if (part_.empty()) { return std::string{viewOf(s)}; }
    keep(s);
    return std::exchange(part_, {});
  }

  std::vector<Value> values_;
  std::vector<std::string> keys_;
  std::string part_;  // a string or number whose beginning the parser gave already
};

}  // namespace

Result<Value> readExact(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::basic_parser<Builder> parser{options};
  boost::json::error_code ec;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && read < text.size()) { ec = boost::json::make_error_code(boost::json::error::extra_data); }
  if (ec) { return fail(Code::Invalid, fmt::format("JSON at byte {}: {}", read, ec.message())); }
  return parser.handler().take();
}

}  // namespace gs::json
