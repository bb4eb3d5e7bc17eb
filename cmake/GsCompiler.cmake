# The language, the warnings, the sanitizers, and the things that make building fast.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

set(GS_SANITIZE "" CACHE STRING "Sanitizers for everything of ours, such as address,undefined")
option(GS_FUZZ "Build fuzz/*_fuzz.cc with libFuzzer (clang only) instead of the corpus replay" OFF)
set(GS_MUTANTS_IN "" CACHE STRING "Folders of src/ that tools/mutants changes")
option(GS_ASSERT "Bounds checks of the standard library" ON)

if(NOT CMAKE_BUILD_TYPE)
  message(FATAL_ERROR "Configure with a preset: cmake --preset dev (or release, asan, tsan, clang, fuzz)")
endif()

# Warnings: none, for our code. Other people's headers come in as SYSTEM.
set(gs_warnings -Wall -Wextra -Wpedantic -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12: false alarms from its own std::string at -O2 (GCC bug 105651).
  list(APPEND gs_warnings -Wno-restrict -Wno-subobject-linkage)
  if(GS_SANITIZE)
    # GCC says itself that these are unreliable in instrumented code; -Wtsan speaks about fences inside Asio.
    list(APPEND gs_warnings -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
    if(GS_SANITIZE MATCHES "thread")
      list(APPEND gs_warnings -Wno-tsan)
    endif()
  endif()
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Fields that carry GS_GUARDED_BY (base/mutex.h) are proven to be locked.
  list(APPEND gs_warnings -Wthread-safety)
endif()

# Everything that our own targets are compiled and linked with.
add_library(gs_options INTERFACE)
target_compile_options(gs_options INTERFACE ${gs_warnings} -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
target_include_directories(gs_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
if(GS_ASSERT)
  target_compile_definitions(gs_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(GS_SANITIZE)
  target_compile_options(gs_options INTERFACE -fsanitize=${GS_SANITIZE} -fno-sanitize-recover=all
                                              -fno-omit-frame-pointer)
  target_link_options(gs_options INTERFACE -fsanitize=${GS_SANITIZE})
endif()
if(GS_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "GS_FUZZ needs clang (libFuzzer): use cmake --preset fuzz")
  endif()
  target_compile_options(gs_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Names of functions in the stack that GS_CHECK prints.
target_link_options(gs_options INTERFACE -rdynamic)

find_program(GS_LLD ld.lld)
if(GS_LLD)
  target_link_options(gs_options INTERFACE -fuse-ld=lld)
endif()

# ccache, when there: paths relative to the source tree, so that a second checkout finds what the first one built.
find_program(GS_CCACHE ccache)
if(GS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER /usr/bin/env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${GS_CCACHE})
endif()
