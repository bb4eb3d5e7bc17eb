#include "test/dra/draw.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "test/dra/draw_device.h"
#include "test/dra/words.h"

namespace gs::dra {
namespace {

enum class Shape : std::uint8_t { Bool, Int, Text, Version, Amount, Any };
constexpr std::uint64_t kShapes = 6;

/// As a literal, in one of the ways to write it.
std::string literalOf(Rng& rng, std::string_view text) {
  const bool plain = text.find_first_of("\\\n'\"") == std::string_view::npos;
  const char quote = rng.chance(50) ? '"' : '\'';
  if (plain && rng.chance(15)) { return fmt::format("r{}{}{}", quote, text, quote); }
  if (text.find_first_of("\\'\"") == std::string_view::npos && rng.chance(10)) {
    const std::string three(3, quote);
    return three + std::string{text} + three;
  }
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == quote || c == '\\') {
      out += std::string{'\\', c};
    } else if (byte < 0x80 && rng.chance(5)) {
      out += rng.chance(30)   ? fmt::format("\\x{:02x}", byte)
             : rng.chance(50) ? fmt::format("\\{:03o}", byte)
                              : fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + quote;
}

class Drawing {
 public:
  Drawing(Rng rng, const model::SliceDevice& device) : rng_{std::move(rng)}, device_{device} {}

  std::string root() { return rng_.chance(90) ? boolean() : attribute(); }

 private:
  struct Bound {
    std::string name;
    bool map;     // of attributes, else a value
    Shape shape;  // of a value
  };

  /// Mostly of that shape.
  std::string of(Shape shape) {
    if (rng_.chance(1)) { shape = static_cast<Shape>(rng_.below(kShapes)); }
    if (rng_.chance(4)) { shape = Shape::Any; }
    if (depth_ >= 5) { return leaf(shape); }
    ++depth_;
    std::string made = rng_.chance(30) ? leaf(shape) : grown(shape);
    --depth_;
    return made;
  }

  std::string grown(Shape shape) {
    if (rng_.chance(8)) { return choice(shape); }
    switch (shape) {
      case Shape::Bool: return boolean();
      case Shape::Int: return number();
      case Shape::Text: return "(" + of(Shape::Text) + ").lowerAscii()";
      case Shape::Version: return rng_.chance(80) ? leaf(shape) : fmt::format("semver({})", of(Shape::Text));
      case Shape::Amount: return rng_.chance(80) ? leaf(shape) : fmt::format("quantity({})", of(Shape::Text));
      default: return rng_.chance(80) ? attribute() : "-" + operand(Shape::Any);
    }
  }

  /// An attribute that the device has, and whose value is of that shape; "" there is none.
  std::string present(Shape shape) {
    std::vector<const model::QualifiedName*> all;
    for (const auto& [key, value] : device_.attributes) {
      static_assert(std::variant_size_v<model::Attribute> == 5);
      constexpr std::array kOf{Shape::Any, Shape::Bool, Shape::Int, Shape::Text, Shape::Version};
      if (shape == Shape::Any || kOf[value.index()] == shape) { all.push_back(&key); }
    }
    if (all.empty()) { return ""; }
    const auto& [domain, name] = *all[rng_.below(all.size())];
    return fmt::format("device.attributes[{}].{}", literalOf(rng_, domain), name);
  }

  std::string leaf(Shape shape) {
    if (shape != Shape::Amount && rng_.chance(40)) {
      if (const std::string there = present(shape); !there.empty()) { return there; }
    }
    for (const Bound& one : bound_) {
      if (!one.map && one.shape == shape && rng_.chance(40)) { return one.name; }
    }
    switch (shape) {
      case Shape::Bool: return rng_.chance(50) ? "true" : "false";
      case Shape::Int: return numeral();
      case Shape::Text: return rng_.chance(15) ? "device.driver" : literalOf(rng_, oneOf(rng_, kTexts));
      case Shape::Version:
        return fmt::format("semver({})", literalOf(rng_, rng_.chance(90) ? oneOf(rng_, kVersions)
                                                                         : oneOf(rng_, kNoVersions)));
      case Shape::Amount:
        return rng_.chance(40) ? picked(capacities())
                               : fmt::format("quantity({})",
                                             literalOf(rng_, rng_.chance(90) ? oneOf(rng_, kQuantities)
                                                                             : oneOf(rng_, kNoQuantities)));
      default: return attribute();
    }
  }

  std::string numeral() {
    const std::string_view text = oneOf(rng_, kNumbers);
    return text == "42" && rng_.chance(50) ? "0x2a" : std::string{text};
  }

  /// With parentheses, mostly: without them it may be read as something else, or not at all.
  std::string operand(Shape shape) {
    const std::string text = of(shape);
    return rng_.chance(15) ? text : "(" + text + ")";
  }

  std::string scalar() { return operand(static_cast<Shape>(rng_.below(kShapes))); }

  std::string space() {
    return rng_.chance(80) ? " " : rng_.chance(50) ? "" : rng_.chance(50) ? "\n\t" : " // in\n";
  }

  std::string boolean() {
    switch (rng_.below(10)) {
      case 0: return logic();
      case 1: return logic();
      case 2: return std::string(1 + rng_.below(3), '!') + operand(Shape::Bool);
      case 3: return equality();
      case 4: return order();
      case 5: return membership();
      case 6: return comparison();
      case 7: return textTest();
      case 8: return question();
      default: return binding();
    }
  }

  std::string logic() {
    std::string out = operand(Shape::Bool);
    const std::string sign = rng_.chance(50) ? "&&" : "||";
    for (std::uint64_t n = 1 + rng_.below(3); n > 0; --n) {
      out += space() + (rng_.chance(90) ? sign : "&&") + space() + operand(Shape::Bool);
    }
    return out;
  }

  std::string equality() {
    const auto shape = static_cast<Shape>(rng_.below(kShapes));
    return operand(shape) + space() + (rng_.chance(60) ? "==" : "!=") + space() + operand(shape);
  }

  std::string order() {
    constexpr std::array kSigns{"<", "<=", ">", ">="};
    constexpr std::array kOrdered{Shape::Bool, Shape::Int, Shape::Int, Shape::Text, Shape::Any};
    const Shape shape = kOrdered[rng_.below(kOrdered.size())];
    return operand(shape) + space() + std::string{oneOf(rng_, kSigns)} + space() + operand(shape);
  }

  std::string membership() {
    if (rng_.chance(40)) { return operand(Shape::Text) + " in " + (rng_.chance(50) ? domains() : names()); }
    const auto shape = static_cast<Shape>(rng_.below(kShapes));
    return operand(rng_.chance(30) ? Shape::Any : shape) + " in " + list(shape);
  }

  std::string list(Shape shape) {
    const bool leaves = rng_.chance(60);
    std::string out = "[";
    for (std::uint64_t n = rng_.below(4); n > 0; --n) {
      out += (leaves ? leaf(shape) : of(shape)) + (n > 1 ? ", " : rng_.chance(10) ? "," : "");
    }
    return out + "]";
  }

  std::string comparison() {
    const Shape shape = rng_.chance(50) ? Shape::Version : Shape::Amount;
    const std::string receiver = rng_.chance(40) ? attribute() : operand(shape);
    if (rng_.chance(30)) {
      return fmt::format("{}.compareTo({}) {} 0", receiver, of(shape), rng_.chance(50) ? "<=" : "==");
    }
    return fmt::format("{}.{}({})", receiver, rng_.chance(50) ? "isLessThan" : "isGreaterThan", of(shape));
  }

  std::string textTest() {
    constexpr std::array kTests{"startsWith", "endsWith", "contains"};
    if (rng_.chance(25)) {
      return fmt::format("{}.matches({})", operand(Shape::Text), literalOf(rng_, oneOf(rng_, kPatterns)));
    }
    if (rng_.chance(15)) { return fmt::format("isSemver({})", of(Shape::Text)); }
    if (rng_.chance(15)) {
      return fmt::format("isQuantity({})",
                         rng_.chance(70) ? literalOf(rng_, oneOf(rng_, kQuantities)) : of(Shape::Text));
    }
    return fmt::format("{}.{}({})", operand(Shape::Text), oneOf(rng_, kTests), of(Shape::Text));
  }

  std::string question() {
    if (rng_.chance(15)) { return fmt::format("has({}.{})", domains(), oneOf(rng_, kNames)); }
    return fmt::format("has({}.{})", names(), oneOf(rng_, kNames));
  }

  std::string choice(Shape shape) {
    return fmt::format("{}{}?{}{} : {}", operand(Shape::Bool), space(), space(), operand(shape),
                       operand(shape));
  }

  std::string binding() {
    constexpr std::array kVariables{"x", "y", "gpu", "driver"};
    Bound one{std::string{oneOf(rng_, kVariables)}, rng_.chance(50), static_cast<Shape>(rng_.below(kShapes))};
    for (const Bound& other : bound_) {  // so that a name has one meaning, which leaf() knows
      if (other.name == one.name) { return logic(); }
    }
    const std::string value = one.map ? attributes() : valueToBind(one.shape);
    const std::string name = one.name;
    bound_.push_back(std::move(one));
    const std::string body = of(Shape::Bool);
    bound_.pop_back();
    return fmt::format("cel.bind({}, {}, {})", name, value, body);
  }

  /// Of that shape for certain, or the uses of the name would not fit.
  std::string valueToBind(Shape shape) {
    if (shape == Shape::Any) { return attribute(); }
    std::string value = leaf(shape);
    while (shape != Shape::Amount && value.starts_with("device.attributes")) { value = leaf(shape); }
    return value;
  }

  std::string number() {
    switch (rng_.below(4)) {
      case 0: return std::string(1 + rng_.below(3), '-') + operand(Shape::Int);
      case 1: {
        constexpr std::array kParts{"major", "minor", "patch"};
        return fmt::format("{}.{}()", operand(Shape::Version), oneOf(rng_, kParts));
      }
      case 2: return fmt::format("{}.compareTo({})", operand(Shape::Version), of(Shape::Version));
      default: return sizeOf();
    }
  }

  std::string sizeOf() {
    const std::string what = rng_.chance(40)   ? of(Shape::Text)
                             : rng_.chance(40) ? names()
                             : rng_.chance(50) ? domains()
                                               : list(Shape::Int);
    return rng_.chance(50) ? fmt::format("size({})", what) : fmt::format("({}).size()", what);
  }

  std::string domains() { return rng_.chance(60) ? "device.attributes" : "device.capacity"; }
  std::string names() { return rng_.chance(60) ? attributes() : capacities(); }
  std::string capacities() { return "device.capacity" + domainKey(); }

  /// The names of one domain, or a name that stands for them.
  std::string attributes() {
    for (const Bound& one : bound_) {
      if (one.map && rng_.chance(50)) { return one.name; }
    }
    return "device.attributes" + domainKey();
  }

  std::string domainKey() {
    const std::string_view domain = oneOf(rng_, kDomains);
    if (domain.find('.') == std::string_view::npos && rng_.chance(30)) { return fmt::format(".{}", domain); }
    return rng_.chance(90) ? fmt::format("[{}]", literalOf(rng_, domain)) : key();
  }

  std::string key() {
    return fmt::format("[{}]", rng_.chance(40) ? "device.driver"
                               : depth_ < 5    ? of(rng_.chance(50) ? Shape::Text : Shape::Any)
                                               : "'d'");
  }

  std::string picked(const std::string& map) {
    const std::string_view name = oneOf(rng_, kNames);
    if (rng_.chance(1)) { return map + ".in"; }
    if (rng_.chance(3)) { return map + key(); }
    return rng_.chance(80) ? fmt::format("{}.{}", map, name)
                           : fmt::format("{}[{}]", map, literalOf(rng_, name));
  }

  std::string attribute() {
    const std::string there = rng_.chance(50) ? present(Shape::Any) : "";
    return there.empty() ? picked(attributes()) : there;
  }

  Rng rng_;
  const model::SliceDevice& device_;
  int depth_ = 0;
  std::vector<Bound> bound_;
};

}  // namespace

DrawnPair draw(std::uint64_t seed, std::uint64_t number) {
  Rng rng{seed * 1'000'003 + number};
  DrawnPair out;
  out.device = drawDevice(rng);
  do {
    out.expression = Drawing{rng.split(), out.device.device}.root();
  } while (out.expression.size() > 4000);
  return out;
}

}  // namespace gs::dra
