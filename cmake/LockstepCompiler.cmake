# SPDX-License-Identifier: MIT
# Flags every target of ours shares. Link lockstep::flags PRIVATE.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} is too old: Lockstep needs 12 or newer, apt install g++ on "
                      "Debian 12 or Ubuntu 24.04, or name another one by CXX=g++-12")
endif()

# Most of this code starts processes, reads small documents and lays out pages: -O1 takes two thirds of -O3's time to compile.
# What runs a million times a second says so itself: lockstep_optimize_hot(). GCC 12 then warns of overlaps inside std::string
# and of empty std::optional being read, both wrongly; the preset dev, at -O2, keeps these warnings.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
add_compile_options($<$<CONFIG:Release>:-Wno-restrict> $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)

# Sources whose speed a benchmark in tests/bench watches: each is a unit of its own, at -O3.
function(lockstep_optimize_hot)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
endfunction()

add_library(lockstep_flags INTERFACE)
add_library(lockstep::flags ALIAS lockstep_flags)
target_include_directories(lockstep_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(lockstep_flags INTERFACE -Wall -Wextra -Wnon-virtual-dtor)
# In units compiled as one, these two warn about faultless code; the preset dev has the first.
target_compile_options(lockstep_flags INTERFACE
  $<IF:$<BOOL:${CMAKE_UNITY_BUILD}>,-Wno-subobject-linkage,-Wshadow>)
# No path of this machine in a released binary, which names its sources in messages.
target_compile_options(lockstep_flags INTERFACE $<$<CONFIG:Release>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>)
target_link_libraries(lockstep_flags INTERFACE Threads::Threads)

# The sloppiness is what ccache asks for beside precompiled headers; the base folder, and ignoring the option that names
# the clone's path, let two clones share results.
find_program(LOCKSTEP_CCACHE ccache)
mark_as_advanced(LOCKSTEP_CCACHE)
if(LOCKSTEP_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_IGNOREOPTIONS=-ffile-prefix-map=*
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${LOCKSTEP_CCACHE})
endif()

set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()
