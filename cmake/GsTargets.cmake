# How a folder becomes targets. See CMakeLists.txt for the folders.
include(GoogleTest)

set_property(GLOBAL PROPERTY GS_FOLDERS "")

# Code that only tests run is optimised less than what ships, and in larger batches: compiling it takes half the time, running
# it as long.
function(gs_compiles_sooner target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND CMAKE_CXX_FLAGS_RELEASE MATCHES "-O2")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# One test executable; every TEST in it is one ctest test, found when ctest runs.
function(gs_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;LABEL" "SOURCES;DEPS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE gs_options ${arg_DEPS} GTest::gtest_main rapidcheck rapidcheck_gtest)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  gs_compiles_sooner(${name})
  gtest_discover_tests(${name} TEST_PREFIX "${name}/" DISCOVERY_MODE PRE_TEST
                       WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                       PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL})
endfunction()

# src/<folder>/**/*.cc -> library <folder> (INTERFACE while there is no .cc), **/*_test.cc -> <folder>_test.
function(gs_library folder)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS;TEST_DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${folder}/*.cc")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(${folder} STATIC ${sources})
    target_link_libraries(${folder} PRIVATE gs_options PUBLIC ${arg_DEPS} ${arg_LIBS})
    if(folder IN_LIST GS_MUTANTS_IN)  # one file after the other is compiled, many times
      set_target_properties(${folder} PROPERTIES UNITY_BUILD OFF)
      target_compile_options(${folder} PRIVATE -O1 -g0)
    endif()
  else()
    add_library(${folder} INTERFACE)
    target_link_libraries(${folder} INTERFACE ${arg_DEPS} ${arg_LIBS})
  endif()
  set_property(GLOBAL APPEND PROPERTY GS_FOLDERS ${folder})
  if(tests)
    gs_test(${folder}_test SOURCES ${tests} DEPS ${folder} ${arg_TEST_DEPS})
  endif()
endfunction()

# A linker takes whole objects: one for each room src/<folder>/<room>/ instead of one for any eight files.
function(gs_unity_by_room folder)
  get_target_property(sources ${folder} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH room)
    cmake_path(GET room FILENAME room)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${room})
  endforeach()
  set_target_properties(${folder} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# src/<folder>/**/*.proto: messages and services, generated into a library of their own, <folder>_protos. Only unix
# sockets are spoken, so the gRPC without TLS is enough; where a file has no service, none is made for gRPC.
function(gs_protos folder)
  set(from "${CMAKE_SOURCE_DIR}/src/${folder}")
  file(GLOB_RECURSE protos CONFIGURE_DEPENDS "${from}/*.proto")
  set(to "${CMAKE_BINARY_DIR}/generated/${folder}")
  set(sources "")
  foreach(proto IN LISTS protos)
    cmake_path(RELATIVE_PATH proto BASE_DIRECTORY "${from}" OUTPUT_VARIABLE name)
    cmake_path(REMOVE_EXTENSION name)
    cmake_path(GET name PARENT_PATH room)
    file(MAKE_DIRECTORY "${to}/${room}")
    set(made "${to}/${name}.pb.cc")
    set(headers "${to}/${name}.pb.h")
    set(services "")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${proto}")
    file(STRINGS "${proto}" has_services REGEX "^service ")
    if(has_services)
      list(APPEND made "${to}/${name}.grpc.pb.cc")
      list(APPEND headers "${to}/${name}.grpc.pb.h")
      set(services --grpc_out=${to} --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    endif()
    add_custom_command(OUTPUT ${made} ${headers}
                       COMMAND protobuf::protoc --cpp_out=${to} ${services} -I "${from}" "${proto}"
                       DEPENDS "${proto}" VERBATIM)
    list(APPEND sources ${made})
  endforeach()
  add_custom_target(${folder}_protos_made DEPENDS ${sources})  # for who looks at sources and compiles none
  add_library(${folder}_protos STATIC ${sources})
  set_target_properties(${folder}_protos PROPERTIES UNITY_BUILD OFF)
  target_compile_options(${folder}_protos PRIVATE -w)
  target_include_directories(${folder}_protos SYSTEM PUBLIC "${to}")
  target_link_libraries(${folder}_protos PUBLIC gRPC::grpc++_unsecure protobuf::libprotobuf-lite)
endfunction()

function(gs_app_deps app)
  set_property(GLOBAL PROPERTY GS_APP_DEPS_${app} ${ARGN})
endfunction()

# test/nvml, test/rocm: a libnvidia-ml.so.1 and a librocm_smi64.so.1 for tests, and of each one that lacks what older
# drivers lack.
function(gs_fake_driver name source library)
  string(TOUPPER ${name} upper)
  foreach(kind fake old)
    set(folder "${CMAKE_BINARY_DIR}/tests/${name}-${kind}")
    add_library(${name}_${kind} MODULE "${CMAKE_SOURCE_DIR}/test/${name}/${source}")
    set_target_properties(${name}_${kind} PROPERTIES OUTPUT_NAME ${library} SUFFIX .so.1 LIBRARY_OUTPUT_DIRECTORY "${folder}")
    target_link_libraries(${name}_${kind} PRIVATE gs_options)
    target_link_options(${name}_${kind} PRIVATE -Wl,-z,nodelete)  # what its hanging calls need stays, and is no leak
    target_compile_definitions(noderim_test PRIVATE "GS_${upper}_${kind}=\"${folder}/lib${library}.so.1\"")
    add_dependencies(noderim_test ${name}_${kind})
  endforeach()
  target_compile_definitions(${name}_old PRIVATE GS_FAKE_${upper}_OLD)
endfunction()

# src/apps/gpu_scheduler_main.cc -> bin/gpu-scheduler. The target of one that is called like its folder has a name of its own.
function(gs_apps)
  file(GLOB mains CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/apps/*_main.cc")
  get_property(folders GLOBAL PROPERTY GS_FOLDERS)
  list(REMOVE_ITEM folders testing)
  add_custom_target(programs)
  foreach(main IN LISTS mains)
    get_filename_component(app "${main}" NAME_WE)
    string(REGEX REPLACE "_main$" "" app "${app}")
    string(REPLACE "_" "-" executable "${app}")
    get_property(deps GLOBAL PROPERTY GS_APP_DEPS_${app})
    if(NOT deps)
      set(deps ${folders})
    endif()
    set(target "${executable}")
    if(executable IN_LIST folders)
      set(target "${executable}-program")
    endif()
    add_executable(${target} "${main}")
    set_target_properties(${target} PROPERTIES OUTPUT_NAME "${executable}")
    target_link_libraries(${target} PRIVATE gs_options ${deps})
    install(TARGETS ${target})
    add_dependencies(programs ${target})
    gs_says(${target} share/man/man1/${executable}.1 man)
    gs_says(${target} share/bash-completion/completions/${executable} completion bash)
    gs_says(${target} share/zsh/site-functions/_${executable} completion zsh)
    gs_says(${target} share/fish/vendor_completions.d/${executable}.fish completion fish)
  endforeach()
endfunction()

# gs_says(PROGRAM FILE ARGUMENT...): what the program prints, as FILE of the build folder and of what is installed.
function(gs_says executable file)
  set(path "${CMAKE_BINARY_DIR}/${file}")
  get_filename_component(folder "${path}" DIRECTORY)
  add_custom_command(OUTPUT "${path}"
                     COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
                     COMMAND ${executable} ${ARGN} > "${path}.new"
                     COMMAND "${CMAKE_COMMAND}" -E rename "${path}.new" "${path}"
                     DEPENDS ${executable} VERBATIM)
  string(MAKE_C_IDENTIFIER "${file}" target)
  add_custom_target(says_${target} ALL DEPENDS "${path}")
  get_filename_component(to "${file}" DIRECTORY)
  install(FILES "${path}" DESTINATION "${to}")
endfunction()

# test/world/*_test.cc -> world_test, which may use every folder.
function(gs_world_test)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/test/world/*.cc")
  get_property(folders GLOBAL PROPERTY GS_FOLDERS)
  if(tests)
    gs_test(world_test SOURCES ${tests} DEPS ${folders} TIMEOUT 600 LABEL world)
    target_include_directories(world_test PRIVATE "${CMAKE_SOURCE_DIR}")
  endif()
endfunction()

# src/<folder> -> the objects <folder>_mutant, with bugs that their program can put in (base/mutant.h).
function(gs_mutant folder)
  if(TARGET ${folder}_mutant)
    return()
  endif()
  get_target_property(sources ${folder} SOURCES)
  add_library(${folder}_mutant OBJECT ${sources})
  target_compile_definitions(${folder}_mutant PRIVATE GS_MUTANTS)
  gs_compiles_sooner(${folder}_mutant)
  get_target_property(mode ${folder} UNITY_BUILD_MODE)
  if(mode)
    set_target_properties(${folder}_mutant PROPERTIES UNITY_BUILD_MODE ${mode})
  endif()
  target_link_libraries(${folder}_mutant PRIVATE gs_options ${folder})
endfunction()

# test/sim: bin/sim plays seeds; the test sim_seeds plays the first of them.
set(GS_SIM_SEEDS 2000 CACHE STRING "seeds that the test sim_seeds plays")
function(gs_sim)
  get_property(folders GLOBAL PROPERTY GS_FOLDERS)
  add_library(sim STATIC)
  foreach(part agent_side cache_arrivals cache_damage cache_machine cache_places cache_registry cache_side cache_side_arrivals call_rates cluster dra_play enforce_play enforced_node extras features gang_side judge judge_grant judge_leases judge_quota judge_settled judge_waiting kube_side ledger_check mutators
               plan plan_caches plan_features plan_text play pods_judge pods_judge_binding pods_judge_evictions
               pods_objects pods_play pods_volumes share_calls share_judge share_side shorten slow_filters transcript)
    target_sources(sim PRIVATE "${CMAKE_SOURCE_DIR}/test/sim/${part}.cc")
  endforeach()
  target_sources(sim PRIVATE "${CMAKE_SOURCE_DIR}/test/world/truth.cc")
  set_source_files_properties("${CMAKE_SOURCE_DIR}/test/sim/cache_side.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                              COMPILE_DEFINITIONS GS_GKM_CRDS="${CMAKE_SOURCE_DIR}/charts/gkm/crds/crds.yaml")
  target_include_directories(sim PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(sim PUBLIC gs_options ${folders})
  add_executable(sim_main "${CMAKE_SOURCE_DIR}/test/sim/sim_main.cc")
  set_target_properties(sim_main PROPERTIES OUTPUT_NAME sim)
  target_link_libraries(sim_main PRIVATE sim)
  add_test(NAME sim_seeds COMMAND sim_main ${GS_SIM_SEEDS} 1)
  add_test(NAME sim_dra COMMAND sim_main --dra 200 1)
  add_test(NAME sim_pods COMMAND sim_main --pods 200 1)
  add_test(NAME sim_enforce COMMAND sim_main --enforce 200 1)
  add_test(NAME sim_known_seeds COMMAND sim_main --known "${CMAKE_SOURCE_DIR}/test/sim/known_seeds.txt")
  set_tests_properties(sim_seeds sim_dra sim_pods sim_enforce sim_known_seeds PROPERTIES LABELS world TIMEOUT 2400 COST 800)
  # bin/mutants: the same with bugs that are put in on purpose, one after the other; each must be found. Its agent, controller,
  # enforce, engine, extender, scheduler, webhook, kapi, operator, cacherim and csi come first as objects, so that nothing is
  # taken from the libraries.
  foreach(folder agent controller enforce engine extender scheduler serve webhook kapi operator cacherim csi)
    gs_mutant(${folder})
  endforeach()
  add_executable(mutants_main "${CMAKE_SOURCE_DIR}/test/sim/mutants_main.cc" $<TARGET_OBJECTS:controller_mutant>
                              $<TARGET_OBJECTS:engine_mutant> $<TARGET_OBJECTS:extender_mutant>
                              $<TARGET_OBJECTS:scheduler_mutant> $<TARGET_OBJECTS:serve_mutant> $<TARGET_OBJECTS:kapi_mutant>
                              $<TARGET_OBJECTS:operator_mutant> $<TARGET_OBJECTS:cacherim_mutant> $<TARGET_OBJECTS:csi_mutant>
                              $<TARGET_OBJECTS:agent_mutant> $<TARGET_OBJECTS:webhook_mutant> $<TARGET_OBJECTS:enforce_mutant>)
  set_target_properties(mutants_main PROPERTIES OUTPUT_NAME mutants)
  target_link_libraries(mutants_main PRIVATE sim)
  set(quick "")
  if(GS_SANITIZE)  # ten times slower: those that show in the first seeds
    set(quick BindsBlindly BindsEarly ForgetsSharers ForgetsOnEnd)
  endif()
  add_test(NAME mutants COMMAND mutants_main ${quick})
  set_tests_properties(mutants PROPERTIES LABELS world TIMEOUT 2400 COST 900)  # the longest: begun first
endfunction()

# test/conformance: bin/conformance plays a table of requests; the test conformance_replay compares the sandbox with what a
# real API server was recorded to answer, real/conformance with one that runs beside it.
function(gs_conformance)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/test/conformance/*.cc")
  get_property(folders GLOBAL PROPERTY GS_FOLDERS)
  add_executable(conformance ${sources})
  target_include_directories(conformance PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(conformance PRIVATE gs_options ${folders})
  add_test(NAME conformance_replay COMMAND conformance replay WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(conformance_replay PROPERTIES LABELS world TIMEOUT 300)
endfunction()

# test/dra: bin/dra_selectors draws selectors of DRA, bin/dra_allocations claims and a node; each says what we make of them, for
# test/dra/compare-selectors and test/dra/compare-allocations.
function(gs_dra)
  file(GLOB drawing CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/test/dra/draw*.cc")
  add_library(dra_drawing STATIC ${drawing})
  target_include_directories(dra_drawing PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(dra_drawing PUBLIC gs_options dra cel kapi json model base)
  foreach(what selectors allocations)
    add_executable(dra_${what} "${CMAKE_SOURCE_DIR}/test/dra/${what}_main.cc")
    target_link_libraries(dra_${what} PRIVATE dra_drawing)
  endforeach()
endfunction()

# test/filters: bin/filters draws clusters and pods, says what our filters make of them, and compares that with
# kube-scheduler's, for test/filters/compare-filters. bin/filter-mutants: whether that finds bugs which are put into the filters on
# purpose. Only real tests run it, so other builds than release go without.
function(gs_filters)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/test/filters/*.cc")
  list(FILTER sources EXCLUDE REGEX "_main\\.cc$")
  add_library(filter_cases STATIC ${sources})
  target_include_directories(filter_cases PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(filter_cases PUBLIC gs_options engine sched kapi yaml json model base)
  add_executable(filters "${CMAKE_SOURCE_DIR}/test/filters/filters_main.cc")
  target_link_libraries(filters PRIVATE filter_cases)
  if(NOT CMAKE_BUILD_TYPE STREQUAL Release OR GS_SANITIZE)
    return()
  endif()
  foreach(folder kapi model sched)
    gs_mutant(${folder})
  endforeach()
  add_executable(filter_mutants "${CMAKE_SOURCE_DIR}/test/filters/mutants_main.cc" $<TARGET_OBJECTS:kapi_mutant>
                                $<TARGET_OBJECTS:model_mutant> $<TARGET_OBJECTS:sched_mutant>)
  set_target_properties(filter_mutants PROPERTIES OUTPUT_NAME filter-mutants)
  target_link_libraries(filter_mutants PRIVATE filter_cases)
endfunction()

# fuzz/<name>_fuzz.cc -> bin/<name>_fuzz: libFuzzer with the fuzz preset, else a replay of fuzz/corpus/<name>/ as the
# ctest test fuzz_replay_<name>.
function(gs_fuzz_targets)
  file(GLOB targets CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cc")
  get_property(folders GLOBAL PROPERTY GS_FOLDERS)
  if(NOT targets)
    return()
  endif()
  if(NOT GS_FUZZ)
    add_library(fuzz_replay OBJECT "${CMAKE_SOURCE_DIR}/fuzz/replay_main.cc")
    target_link_libraries(fuzz_replay PRIVATE gs_options)
  endif()
  add_custom_target(all_fuzz)
  foreach(source IN LISTS targets)
    get_filename_component(target "${source}" NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" name "${target}")
    add_executable(${target} "${source}")
    target_link_libraries(${target} PRIVATE gs_options ${folders})
    add_dependencies(all_fuzz ${target})
    if(GS_FUZZ)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
      target_link_libraries(${target} PRIVATE fuzz_replay)
      add_test(NAME fuzz_replay_${name} COMMAND ${target} "${CMAKE_SOURCE_DIR}/fuzz/corpus/${name}")
      set_tests_properties(fuzz_replay_${name} PROPERTIES LABELS unit TIMEOUT 120)
    endif()
  endforeach()
endfunction()

# bench/<name>_bench.cc -> bin/<name>_bench
function(gs_benchmarks)
  file(GLOB benches CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/*_bench.cc")
  get_property(folders GLOBAL PROPERTY GS_FOLDERS)
  add_custom_target(all_bench)
  foreach(source IN LISTS benches)
    get_filename_component(target "${source}" NAME_WE)
    add_executable(${target} "${source}")
    target_link_libraries(${target} PRIVATE gs_options ${folders} benchmark::benchmark benchmark::benchmark_main)
    target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}")
    add_dependencies(all_bench ${target})
  endforeach()
endfunction()
