# SPDX-License-Identifier: MIT
# What is installed, and the packages CPack makes of it: packaging/package builds both.
#   bin/lockstep, lockstepctl, lockstep-agent
#   bin/lockstep-trainer                 finds PyTorch at run time and becomes …
#   libexec/lockstep/lockstep-trainer    … this one, which has no rpath, and loads …
#   libexec/lockstep/lockstep-trainer-cuda.so   … for GPUs
#   lib/lockstep/lines/VERSION/{bin,libexec}   agent and trainer of another line of PyTorch: that build's own component `programs`
#   lib/python3/dist-packages/lockstep, lockstep_ddp.py   links to the package in share/lockstep/python
#   share/lockstep/{recipes,python}, desktop entry, icon, AppStream metadata, man pages, licence, docs/ in share/doc/lockstep
include(GNUInstallDirs)
set(packaging ${CMAKE_SOURCE_DIR}/packaging)

foreach(program lockstep lockstepctl lockstep-agent)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  endif()
endforeach()
if(TARGET lockstep-trainer)
  install(TARGETS lockstep-trainer RUNTIME DESTINATION libexec/lockstep COMPONENT programs)
  if(TARGET lockstep_trainer_cuda)
    install(TARGETS lockstep_trainer_cuda LIBRARY DESTINATION libexec/lockstep COMPONENT programs)
  endif()
  install(TARGETS lockstep-trainer-launcher RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
endif()
# Whatever lines are built in lines/VERSION below this build's folder when it is installed.
install(CODE [[
  file(GLOB lines "${CMAKE_CURRENT_LIST_DIR}/lines/*/launcher/lockstep-trainer")
  foreach(launcher ${lines})
    cmake_path(GET launcher PARENT_PATH line)
    cmake_path(GET line PARENT_PATH line)
    cmake_path(GET line FILENAME version)
    set(strip)
    if(CMAKE_INSTALL_DO_STRIP)
      set(strip --strip)
    endif()
    execute_process(COMMAND "${CMAKE_COMMAND}" --install "${line}" --component programs ${strip}
                    --prefix "${CMAKE_INSTALL_PREFIX}/lib/lockstep/lines/${version}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
]])
install(DIRECTORY ${CMAKE_SOURCE_DIR}/resources/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep)
# pip leaves build and *.egg-info where it installs from, other tools leave their caches.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/resources/python DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep OPTIONAL
        PATTERN __pycache__ EXCLUDE PATTERN build EXCLUDE PATTERN *.egg-info EXCLUDE PATTERN .*_cache EXCLUDE)
# The system's Python of Debian and Ubuntu imports from here when the prefix is /usr.
install(CODE [[
  set(folder "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/python3/dist-packages")
  file(MAKE_DIRECTORY "${folder}")
  foreach(name lockstep lockstep_ddp.py)
    message(STATUS "Installing: ${folder}/${name}")
    file(CREATE_LINK ../../../share/lockstep/python/${name} "${folder}/${name}" SYMBOLIC)
  endforeach()
]])
set(debian_revision 1)
find_program(LOCKSTEP_PYTHON3 python3)
mark_as_advanced(LOCKSTEP_PYTHON3)
set(changelogs ${CMAKE_BINARY_DIR}/man/changelog.gz)
add_custom_command(OUTPUT ${changelogs} COMMAND gzip -9nc ${CMAKE_SOURCE_DIR}/CHANGELOG.md > ${changelogs}
                   DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md VERBATIM)
if(LOCKSTEP_PYTHON3)
  set(debian_changelog ${CMAKE_BINARY_DIR}/man/changelog.Debian.gz)
  add_custom_command(OUTPUT ${debian_changelog}
    COMMAND ${LOCKSTEP_PYTHON3} ${packaging}/debian_changelog.py ${CMAKE_SOURCE_DIR}/CHANGELOG.md
            ${PROJECT_VERSION}-${debian_revision} ${debian_changelog}
    DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${packaging}/debian_changelog.py VERBATIM)
  list(APPEND changelogs ${debian_changelog})
endif()
install(FILES ${packaging}/copyright ${changelogs} DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md PATTERN *.png
        PATTERN __pycache__ EXCLUDE)
if(TARGET lockstep)
  install(FILES ${packaging}/lockstep.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
  install(FILES ${packaging}/io.github.lockstep.Lockstep.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo)
  install(FILES ${CMAKE_SOURCE_DIR}/resources/icons/lockstep.svg
          DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
endif()

# Man pages: prose in packaging/man, the options from each program's own --help.
set(pages)
foreach(program lockstep lockstepctl lockstep-agent lockstep-trainer)
  set(target ${program})
  if(program STREQUAL "lockstep-trainer")
    set(target lockstep-trainer-launcher)
  endif()
  if(NOT TARGET ${target} OR NOT LOCKSTEP_PYTHON3)
    continue()
  endif()
  set(page ${CMAKE_BINARY_DIR}/man/${program}.1.gz)
  add_custom_command(OUTPUT ${page}
    COMMAND ${LOCKSTEP_PYTHON3} ${packaging}/man/make_man.py $<TARGET_FILE:${target}> ${packaging}/man/${program}.1.in
            ${PROJECT_VERSION} ${page}
    DEPENDS ${target} ${packaging}/man/make_man.py ${packaging}/man/${program}.1.in ${packaging}/man/files.1.in VERBATIM)
  list(APPEND pages ${page})
endforeach()
add_custom_target(lockstep_man ALL DEPENDS ${pages} ${changelogs})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# ---- packages ---------------------------------------------------------------------------------------------------
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON) # packing builds no tests
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_VENDOR "The Lockstep authors")
set(CPACK_PACKAGE_CONTACT "The Lockstep authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "desktop monitor for distributed training")
set(CPACK_PACKAGE_FILE_NAME lockstep-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${debian_revision})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Lockstep launches, watches and compares distributed training with PyTorch's
C++ library: it trains a model as baseline, data parallel and distributed
data parallel, shows every rank live, and answers in numbers whether data
parallelism is worth it on this machine. PyTorch itself is found at run
time, or installed for one user by lockstepctl setup-torch.")
# Computed, but PyTorch's libraries, which are found at run time; Qt's plug-ins no linker knows of.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(TARGET lockstep-trainer)
  get_target_property(torch_folders lockstep::torch LOCKSTEP_LIBRARY_FOLDERS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${torch_folders})
endif()
file(WRITE ${CMAKE_BINARY_DIR}/torch-folders.txt "${torch_folders}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/LockstepPackageLines.cmake CONTENT [[
file(GLOB folders "@CMAKE_BINARY_DIR@/lines/*/torch-folders.txt")
foreach(file ${folders})
  file(READ "${file}" folder)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${folder})
endforeach()
]] @ONLY)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_BINARY_DIR}/LockstepPackageLines.cmake)
if(TARGET lockstep)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libqt6sql6-sqlite, qt6-qpa-plugins")
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "dataset-fashion-mnist, fonts-dejavu-core, openssh-client, python3-venv")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-pip, qt6-wayland")
include(CPack)
