# Flags every target of ours shares. Link lockstep::flags PRIVATE.
add_library(lockstep_flags INTERFACE)
add_library(lockstep::flags ALIAS lockstep_flags)
target_include_directories(lockstep_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(lockstep_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
target_link_libraries(lockstep_flags INTERFACE Threads::Threads)

find_program(LOCKSTEP_CCACHE ccache)
if(LOCKSTEP_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LOCKSTEP_CCACHE})
endif()

set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()
