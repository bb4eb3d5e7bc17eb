# Other people's libraries, all from Debian 12 (tools/debian-packages.txt). Which folder may include which is in
# tools/check_layers.py.

function(gs_find name)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} was not found: run tools/install-packages")
  endif()
endfunction()

gs_find(Threads)
gs_find(fmt CONFIG)
gs_find(tl-expected CONFIG)
gs_find(spdlog CONFIG)
gs_find(OpenSSL)
gs_find(CURL)
gs_find(yaml-cpp CONFIG)
gs_find(GTest CONFIG)
gs_find(rapidcheck CONFIG)
gs_find(benchmark CONFIG)
gs_find(Boost 1.81 CONFIG COMPONENTS json)
gs_find(simdjson CONFIG)

# Debian's package file for prometheus-cpp also wants the pull and push parts; the core library is all we use.
if(NOT TARGET prometheus-cpp::core)
  find_library(GS_PROMETHEUS_CORE prometheus-cpp-core)
  find_path(GS_PROMETHEUS_INCLUDE prometheus/registry.h)
  if(NOT GS_PROMETHEUS_CORE OR NOT GS_PROMETHEUS_INCLUDE)
    message(FATAL_ERROR "prometheus-cpp was not found: run tools/install-packages")
  endif()
  add_library(prometheus-cpp::core SHARED IMPORTED)
  set_target_properties(prometheus-cpp::core PROPERTIES IMPORTED_LOCATION "${GS_PROMETHEUS_CORE}")
endif()

# Nor has its RE2 a package file.
if(NOT TARGET re2::re2)
  find_library(GS_RE2 re2)
  find_path(GS_RE2_INCLUDE re2/re2.h)
  if(NOT GS_RE2 OR NOT GS_RE2_INCLUDE)
    message(FATAL_ERROR "RE2 was not found: run tools/install-packages")
  endif()
  add_library(re2::re2 SHARED IMPORTED)
  set_target_properties(re2::re2 PROPERTIES IMPORTED_LOCATION "${GS_RE2}")
endif()
