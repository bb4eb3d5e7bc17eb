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
gs_find(LibArchive)
gs_find(Protobuf)
gs_find(gRPC CONFIG)

# One that Debian has no file for CMake of.
function(gs_find_library target library header)
  if(TARGET ${target})
    return()
  endif()
  find_library(GS_${library}_LIBRARY ${library})
  find_path(GS_${library}_INCLUDE ${header})
  if(NOT GS_${library}_LIBRARY OR NOT GS_${library}_INCLUDE)
    message(FATAL_ERROR "${library} was not found: run tools/install-packages")
  endif()
  add_library(${target} SHARED IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${GS_${library}_LIBRARY}")
endfunction()

gs_find_library(re2::re2 re2 re2/re2.h)
gs_find_library(sodium::sodium sodium sodium.h)
# There is a file for it, which wants the pull and push parts too; the core library is all we use.
gs_find_library(prometheus-cpp::core prometheus-cpp-core prometheus/registry.h)
