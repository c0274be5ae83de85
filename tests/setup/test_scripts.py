#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./run and ./test on machines that lack things. The machine is faked by small programs at the front of PATH; the
scripts, Python's venv and pip are real, and the torch that pip installs is a wheel made here. Since venv takes three seconds
to put pip into an environment, it makes one, and where another is wanted, most tests are given a copy of that one."""
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import zipfile

from environments import PYTHON_WITH_COPIES, made_environment
from source_files import ROOT

NEEDED = [line.split(maxsplit=1)[1] for line in (ROOT / "packaging/setup/packages.txt").read_text().splitlines()
          if line and not line.startswith("#")]


def wheels_of(*names):
    return dict(line.split(" --hash=")[0].split("==") for name in names
                for line in (ROOT / "packaging/setup" / name).read_text().splitlines() if line and not line.startswith("#"))


WHEELS = wheels_of("requirements-torch.txt")
LINE = wheels_of("requirements-torch-2.7.txt")
LINE_GPU = wheels_of("requirements-torch-2.7-gpu.txt")

# The fakes write what they were called with into $FAKES/calls.
CMAKE = r"""folder=; next=
for word in "$@"; do [ "$next" = 1 ] && folder="$word"; next=; [ "$word" = -B ] && next=1; done
mkdir -p "$folder"; : > "$folder/build.ninja" """
NINJA = r"""folder=; next=
for word in "$@"; do [ "$next" = 1 ] && folder="$word"; next=; [ "$word" = -C ] && next=1; done
mkdir -p "$folder/bin"
for program in lockstep lockstepctl; do
    printf '#!/bin/sh\necho "$0 started with: $*"\n' > "$folder/bin/$program"; chmod +x "$folder/bin/$program"
done """
CTEST = r"""report=; next=; failures="${FAKE_FAILURES:-0}"
for word in "$@"; do [ "$next" = 1 ] && report="$word"; next=; [ "$word" = --output-junit ] && next=1; done
printf '<?xml version="1.0"?>\n<testsuite name="x"\n\ttests="5"\n\tfailures="%s"\n\tdisabled="0"\n\tskipped="1"\n>\n' \
    "$failures" > "$report"
printf '%b</testsuite>\n' "${FAKE_CASES:-}" >> "$report"
[ "$failures" = 0 ] || exit 8 """


class Machine:
    """A copy of the scripts, and a PATH in front of which stand fakes."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-setup-"))
        self.project = self.folder / "project"
        self.fakes = self.folder / "fakes"
        self.wheels = self.folder / "wheels"
        for folder in (self.project / "packaging", self.fakes, self.wheels, self.folder / "home"):
            folder.mkdir(parents=True)
        shutil.copytree(ROOT / "packaging/setup", self.project / "packaging/setup")
        for name in ("run", "test"):
            shutil.copy2(ROOT / name, self.project / name)
        self.calls = self.fakes / "calls"
        self.calls.write_text("")
        self.install_packages(*(need.lstrip("?").split("|")[0] for need in NEEDED))
        self.fake("apt-get", "")
        self.fake("cmake", CMAKE)
        self.fake("ninja", NINJA)
        self.fake("ctest", CTEST)
        self.fake("python3", PYTHON_WITH_COPIES.format(made=made_environment()), log=False)
        self.fake("id", "echo 0", log=False)
        self.fake("nproc", "echo 2", log=False)
        self.knows("*")
        self.environment = {"PATH": f"{self.fakes}:/usr/bin:/bin", "HOME": str(self.folder / "home"), "LC_ALL": "C",
                            "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def fake(self, name, body, log=True):
        path = self.fakes / name
        logging = f'echo "{name} $*" >> "{self.calls}"\n' if log else ""
        path.write_text(f"#!/bin/bash\n{logging}{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def install_packages(self, *names):
        lines = "".join(f"ii |{name}\\n" for name in names)
        self.fake("dpkg-query", f"printf '{lines}'", log=False)

    def knows(self, *names):
        """What apt-cache has heard of."""
        cases = "|".join(names)
        self.fake("apt-cache", f'case "$2" in {cases}) echo "  Candidate: 1.0" ;; *) echo "  Candidate: (none)" ;; esac',
                  log=False)

    def offer_torch(self, wheels=None, trusted=True):
        """Puts wheels where pip finds them. Trusted ones are what the project's lists pin."""
        for pinned, version in (wheels or WHEELS).items():
            name = pinned.replace("-", "_")
            file = self.wheels / f"{name}-{version}-py3-none-any.whl"
            with zipfile.ZipFile(file, "w") as wheel:
                info = f"{name}-{version}.dist-info"
                wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
                wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
                                                "Tag: py3-none-any\n")
                wheel.writestr(f"{info}/RECORD", "")
                if name == "torch":
                    wheel.writestr("torch/__init__.py", "")
                    wheel.writestr("torch/version.py", f"__version__ = '{version}'\n")
                    wheel.writestr("torch/include/torch/torch.h", "")
                    wheel.writestr("torch/lib/libtorch_cpu.so", "")
            if trusted:
                self.pin(f"{pinned}=={version}", hashlib.sha256(file.read_bytes()).hexdigest())

    def pin(self, wheel, sha256):
        for pins in (self.project / "packaging/setup").glob("requirements-*.txt"):
            pins.write_text(re.sub(f"^({re.escape(wheel)}) --hash=sha256:.*", rf"\1 --hash=sha256:{sha256}", pins.read_text(),
                                   flags=re.MULTILINE))

    def have_torch(self):
        """What most tests need of torch: that it is there."""
        folder = self.folder / "own/torch"
        (folder / "lib").mkdir(parents=True)
        (folder / "lib/libtorch_cpu.so").touch()
        self.environment["LOCKSTEP_TORCH"] = str(folder)

    def have_test_tools(self):
        """What ./test installs for itself, as stamps: making a Python environment takes seconds. Wants have_torch() first."""
        for name, first in (("lint", ""), ("peers", self.environment["LOCKSTEP_TORCH"] + " ")):
            folder = self.project / ".cache" / name
            folder.mkdir(parents=True)
            pins = [line.split(" --hash=")[0] + " " for line in (ROOT / f"packaging/setup/requirements-{name}.txt").read_text()
                    .splitlines() if not line.startswith("#")]
            (folder / "stamp").write_text(first + "".join(pins))

    def start(self, *command, **variables):
        environment = {key: value for key, value in {**self.environment, **variables}.items() if value is not None}
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)

    def called(self, program):
        return [line for line in self.calls.read_text().splitlines() if line.startswith(program + " ")]


class Scripts(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.remove)
        self.run_script = str(self.machine.project / "run")
        self.test_script = str(self.machine.project / "test")

    def test_without_root_it_names_the_packages_to_install_and_stops(self):
        self.machine.install_packages("cmake", "git")
        self.machine.fake("id", "echo 1000", log=False)
        self.machine.fake("sudo", "exit 1")
        ran = self.machine.start(self.run_script, "--headless")
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("sudo apt-get install", ran.stderr)
        self.assertRegex(ran.stderr, r" g\+\+ .*qt6-base-dev")
        self.assertNotRegex(ran.stderr, r" cmake ")
        self.assertEqual(len(ran.stderr.splitlines()), 1)
        self.assertEqual(self.machine.called("apt-get") + self.machine.called("cmake"), [])

    def test_without_apt_it_names_what_is_needed_and_stops(self):
        bare = self.machine.folder / "bare"
        bare.mkdir()
        for name in ("bash", "sed", "sort", "tr", "dirname", "mkdir", "flock", "cat", "getent", "id"):
            (bare / name).symlink_to(shutil.which(name))
        ran = self.machine.start(self.run_script, "--headless", PATH=str(bare))
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("this system has no apt", ran.stderr)
        self.assertIn("ninja-build", ran.stderr)

    def test_it_installs_only_what_is_missing_by_the_name_of_this_release(self):
        present = [need.lstrip("?").split("|")[0] for need in NEEDED if not need.startswith(("qt6-svg-dev", "ninja"))]
        self.machine.install_packages(*present)
        self.machine.knows("libqt6svg6-dev", "ninja-build")
        self.machine.have_torch()
        ran = self.machine.start(self.run_script, "--setup")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        installs = [line for line in self.machine.called("apt-get") if " install " in line]
        self.assertEqual(len(installs), 1)
        self.assertTrue(installs[0].endswith("--no-install-recommends ninja-build libqt6svg6-dev"), installs[0])

    def test_a_package_that_only_some_releases_have_is_not_missed_on_the_others(self):
        self.machine.install_packages(*(need.split("|")[0] for need in NEEDED if not need.startswith("?")))
        self.machine.knows("ninja-build")
        self.machine.have_torch()
        ran = self.machine.start(self.run_script, "--setup")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.machine.called("apt-get"), [])

    def test_without_a_display_it_runs_the_recipe_and_passes_the_arguments_on(self):
        self.machine.have_torch()
        ran = self.machine.start(self.run_script, "--quick", "--out", "a folder", HOME=None)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("lockstepctl started with: run lenet-dp-vs-ddp --quick --out a folder", ran.stdout)

    def test_an_option_that_no_program_has_is_refused_before_anything_is_installed(self):
        for source in "app/cli/run_options.cpp", "app/ui/app_options.cpp":
            (self.machine.project / source).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, self.machine.project / source)
        for display in None, ":7":
            ran = self.machine.start(self.run_script, "--hedless", DISPLAY=display)
            self.assertEqual(ran.returncode, 2, ran.stdout)
            self.assertIn("./run: there is no option --hedless", ran.stderr)
        self.assertFalse((self.machine.project / ".cache").exists())
        self.machine.have_torch()
        ran = self.machine.start(self.run_script, "--quick", "--out", "a folder", "--repeats=2", "--set", "epochs=1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        ran = self.machine.start(self.run_script, "--experiment", "x", "--dark", DISPLAY=":7")
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_with_a_display_it_opens_the_monitor(self):
        self.machine.have_torch()
        ran = self.machine.start(self.run_script, DISPLAY=":7")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("build/bin/lockstep started with:", ran.stdout)

    def test_the_viewer_needs_no_torch(self):
        ran = self.machine.start(self.run_script, "--viewer", DISPLAY=":7")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("build/viewer/bin/lockstep started with:", ran.stdout)
        self.assertIn("-DLOCKSTEP_TRAINER=OFF", self.machine.called("cmake")[0])
        self.assertFalse((self.machine.project / ".venv").exists())

    def test_the_second_time_nothing_is_installed_or_configured(self):
        (self.machine.fakes / "python3").unlink()  # the environment is made by venv itself
        self.machine.offer_torch()
        self.machine.start(self.run_script, "--setup")
        self.machine.calls.write_text("")
        ran = self.machine.start(self.run_script, "--setup", PIP_FIND_LINKS="/nowhere")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.machine.called("apt-get") + self.machine.called("cmake"), [])
        self.assertEqual(len(self.machine.called("ninja")), 1)

    def test_a_torch_that_was_half_installed_is_finished(self):
        ran = self.machine.start(self.run_script, "--setup")  # pip finds no torch at all
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("could not be installed", ran.stderr)
        self.machine.offer_torch()
        ran = self.machine.start(self.run_script, "--setup")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        package = next((self.machine.project / ".venv").glob("lib/*/site-packages/torch"))
        (package / "lib/libtorch_cpu.so").unlink()  # pip thinks that all is there
        ran = self.machine.start(self.run_script, "--setup")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue((package / "lib/libtorch_cpu.so").exists())

    def test_a_torch_that_the_user_names_is_used(self):
        self.machine.have_torch()
        own = self.machine.environment["LOCKSTEP_TORCH"]
        ran = self.machine.start(self.run_script, "--setup")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(f"-DLOCKSTEP_TORCH_DIR={own}", self.machine.called("cmake")[0])
        around = self.machine.folder / "site-packages"
        (around / "torch/lib").mkdir(parents=True)
        (around / "torch/lib/libtorch_cpu.so").touch()
        self.assertEqual(self.machine.start(self.run_script, "--setup", LOCKSTEP_TORCH=str(around)).returncode, 0)
        self.assertIn(f"-DLOCKSTEP_TORCH_DIR={around}/torch", self.machine.called("cmake")[1])
        ran = self.machine.start(self.run_script, "--setup", LOCKSTEP_TORCH="/nowhere")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("LOCKSTEP_TORCH=/nowhere", ran.stderr)

    def test_a_torch_that_is_not_the_pinned_one_is_refused(self):
        self.machine.offer_torch(trusted=False)
        ran = self.machine.start(self.run_script, "--setup")
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("HASHES", ran.stderr)
        self.assertFalse(list((self.machine.project / ".venv").glob("lib/*/site-packages/torch")))

    def test_a_supported_torch_of_the_machine_is_used(self):
        site = self.machine.folder / "site"
        with_torch = self.machine
        with_torch.offer_torch()
        with zipfile.ZipFile(next(with_torch.wheels.glob("torch-*.whl"))) as wheel:
            wheel.extractall(site)
        ran = with_torch.start(self.run_script, "--setup", PYTHONPATH=str(site))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(f"-DLOCKSTEP_TORCH_DIR={site / 'torch'}", with_torch.called("cmake")[0])
        self.assertFalse((with_torch.project / ".venv").exists())

    def test_a_failing_build_shows_its_end_and_fails(self):
        self.machine.have_torch()
        self.machine.fake("ninja", "echo 'main.cpp:1: error: no'; exit 1")
        ran = self.machine.start(self.run_script, "--headless")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("main.cpp:1: error: no", ran.stderr)
        self.assertNotIn("started with", ran.stdout)

    def test_the_last_line_counts_the_tests(self):
        self.machine.have_torch()
        self.machine.have_test_tools()
        ran = self.machine.start(self.test_script)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.splitlines()[-1], "4 passed, 0 failed, 1 skipped")
        self.assertIn("-LE soak", self.machine.called("ctest")[0])
        ran = self.machine.start(self.test_script, "-R", "x y", FAKE_FAILURES="2")
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(ran.stdout.splitlines()[-1], "2 passed, 2 failed, 1 skipped")
        self.assertIn("-R x y", self.machine.called("ctest")[1])

    def test_what_a_passing_test_left_out_is_counted_as_skipped(self):
        self.machine.have_torch()
        self.machine.have_test_tools()
        outputs = {"ui.x": "SKIP   : X::y() no\nTotals: 4 passed, 0 failed, 2 skipped, 0 blacklisted, 5ms",
                   "trainer.x": "x_test.cpp:20: MESSAGE: skipped: no GPU here", "python.x": "OK (skipped=3)",
                   "none.x": "Totals: 9 passed, 0 failed, 0 skipped, 0 blacklisted, 5ms"}
        cases = [f'<testcase name="{name}" time="0.1" status="run">\n<system-out>{text}\n</system-out>\n</testcase>\n'
                 for name, text in outputs.items()]
        cases.append('<testcase name="left.x" status="notrun">\n<system-out>OK (skipped=9)\n</system-out>\n</testcase>\n')
        ran = self.machine.start(self.test_script, FAKE_CASES="".join(cases).replace("\n", "\\n"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.splitlines()[-1], "4 passed, 0 failed, 7 skipped")
        self.assertIn("2 inside ui.x", ran.stdout)
        self.assertNotIn("left.x", ran.stdout)

    def test_without_the_tools_that_tests_compare_with_the_others_run(self):
        self.machine.have_torch()
        ran = self.machine.start(self.test_script)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("the checks of format and of clang-tidy will be skipped", ran.stdout)
        self.assertIn("tests against Python's programs will be skipped", ran.stdout)

    def test_a_test_that_fails_is_not_asked_again(self):
        self.machine.have_torch()
        self.machine.have_test_tools()
        ran = self.machine.start(self.test_script, FAKE_FAILURES="1")
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(ran.stdout.splitlines()[-1], "3 passed, 1 failed, 1 skipped")
        self.assertEqual(len(self.machine.called("ctest")), 1)

    def test_the_terminal_builds_no_window_and_the_window_does(self):
        self.machine.have_torch()
        self.machine.start(self.run_script, "--headless")
        self.assertNotRegex(self.machine.called("ninja")[0], r" lockstep( |$)")
        self.machine.start(self.run_script, DISPLAY=":7")
        self.assertRegex(self.machine.called("ninja")[1], r" lockstep( |$)")

    def test_progress_says_in_numbers_what_is_built_and_what_is_left(self):
        log = self.machine.folder / "log"
        log.write_text("[3/66] Building CXX object app/core/CMakeFiles/lockstep_core.dir/Unity/unity_1_cxx.cxx.o\n"
                       "main.cpp:3:5: warning: unused variable\n    int x;\n    ^~~~~~\n")
        script = f'root={self.machine.project}; program=x; . {self.machine.project}/packaging/setup/lib.sh; progress_in {log}'
        ran = self.machine.start("bash", "-c", script)
        self.assertEqual(ran.stdout.strip(), "3 of 66 steps done, 63 left, last: app/core")
        log.write_text("Collecting torch\n")
        self.assertEqual(self.machine.start("bash", "-c", script).stdout.strip(), "Collecting torch")

    def test_a_second_line_of_torch_is_installed_beside_and_built_when_it_is_asked_for(self):
        self.machine.have_torch()
        self.machine.offer_torch({**LINE, **LINE_GPU})
        line = LINE["torch"]
        ran = self.machine.start(self.run_script, "--lines")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        folder = self.machine.project / ".cache/lines" / line
        self.assertTrue((folder / "torch/lib/libtorch_cpu.so").exists())
        configured = [call for call in self.machine.called("cmake") if f"build/lines/{line}" in call]
        self.assertEqual(len(configured), 1)
        self.assertIn(f"-DLOCKSTEP_TORCH_DIR={folder}/torch", configured[0])
        self.assertIn("-DLOCKSTEP_APP=OFF", configured[0])
        self.assertNotIn("started with", ran.stdout)
        self.assertIn("nvidia-cudnn", (folder / "stamp").read_text())

        # The tests need no more than is there, and are counted together with the others.
        self.machine.have_test_tools()
        ran = self.machine.start(self.test_script, "--lines", PIP_FIND_LINKS="/nowhere")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.splitlines()[-1], "8 passed, 0 failed, 2 skipped")
        self.assertIn(r"-R ^trainer\.", self.machine.called("ctest")[-1])

    def test_the_tests_of_the_second_line_want_no_libraries_for_gpus(self):
        self.machine.have_torch()
        self.machine.have_test_tools()
        self.machine.offer_torch(LINE)
        ran = self.machine.start(self.test_script, "--lines")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(len(self.machine.called("ctest")), 2)

    def test_a_wheel_that_is_not_the_pinned_one_is_refused(self):
        self.machine.have_torch()
        self.machine.offer_torch({**LINE, **LINE_GPU}, trusted=False)
        ran = self.machine.start(self.run_script, "--lines")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("THESE PACKAGES DO NOT MATCH THE HASHES", ran.stderr)
        self.assertFalse((self.machine.project / ".cache/lines" / LINE["torch"] / "stamp").exists())

    def test_without_being_asked_for_the_second_line_costs_nothing(self):
        self.machine.have_torch()
        self.machine.have_test_tools()
        for script, words in ((self.run_script, ["--setup"]), (self.test_script, [])):
            self.assertEqual(self.machine.start(script, *words).returncode, 0)
        self.assertFalse((self.machine.project / ".cache/lines").exists())
        self.assertEqual([call for call in self.machine.called("cmake") if "lines" in call], [])
        self.assertEqual(len(self.machine.called("ctest")), 1)

    def test_help_changes_nothing(self):
        for script in (self.run_script, self.test_script):
            ran = self.machine.start(script, "--help")
            self.assertEqual(ran.returncode, 0)
            self.assertIn("install what is missing", ran.stdout)
        self.assertFalse((self.machine.project / ".cache").exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
