#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What people install: the desktop files and man pages in their own validators, and the packages of this build, unpacked and run."""
import argparse
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from source_files import ROOT, source_files

PROGRAMS = ("lockstep", "lockstepctl", "lockstep-agent", "lockstep-trainer")
INTERNAL = {"LOCKSTEP_MASTER_LISTEN_FD", "LOCKSTEP_RUN"}  # between agent and rank
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
BUILD = TORCH = None


def run(*command, **options):
    environment = dict(os.environ, LC_ALL="C.UTF-8", QT_QPA_PLATFORM="offscreen", ASAN_OPTIONS="detect_leaks=0")
    environment.update(options.pop("environment", {}))
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, **options)


def need(test, program):
    found = shutil.which(program)
    if not found:
        print(f"skipped: {program} is not installed", file=sys.stderr)
        test.skipTest(f"{program} is not installed")
    return found


def program(name):
    """As it is built; the trainer by its launcher, which is what is installed."""
    return BUILD / ("launcher" if name == "lockstep-trainer" else "bin") / name


class Files(unittest.TestCase):
    def test_the_desktop_entry_is_valid(self):
        ran = run(need(self, "desktop-file-validate"), ROOT / "packaging/lockstep.desktop")
        self.assertEqual((ran.returncode, ran.stdout + ran.stderr), (0, ""))

    def test_the_appstream_metadata_is_valid(self):
        ran = run(need(self, "appstreamcli"), "validate", "--no-net",
                  *(ROOT / "packaging").glob("*.metainfo.xml"))
        self.assertEqual(ran.returncode, 0, ran.stdout)

    def test_the_copyright_file_holds_the_licence(self):
        words = (ROOT / "LICENSE").read_text().split("\n", 4)[4].split()
        packaged = re.sub(r"(?m)^ \.$", "", (ROOT / "packaging/copyright").read_text()).split()
        self.assertEqual(packaged[-len(words):], words)


def help_of(*words):
    """--help of a command and of all its subcommands."""
    shown = run(*words, "--help").stdout
    return shown + "".join(help_of(*words, command) for command in
                          re.findall(r"^  ([a-z][a-z-]+)\s", shown.partition("Subcommands:")[2], re.MULTILINE))


class ManPages(unittest.TestCase):
    def pages(self):
        for name in PROGRAMS:
            page = BUILD / f"man/{name}.1.gz"
            if program(name).exists():
                yield name, page, gzip.open(page, "rt").read()

    def test_no_formatter_warns(self):
        groff = need(self, "groff")
        for name, _, text in self.pages():
            ran = run(groff, "-man", "-ww", "-Tutf8", input=text)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), name)
        if shutil.which("mandoc"):
            for name, _, text in self.pages():
                ran = run("mandoc", "-Tlint", "-Wwarning", input=text)
                wrong = [line for line in ran.stdout.splitlines() if "missing date" not in line]  # nothing is released yet
                self.assertEqual(wrong, [], name)

    def test_they_list_the_options_of_help_and_no_others(self):
        groff = need(self, "groff")
        for name, _, text in self.pages():
            shown = run(groff, "-man", "-Tascii", "-P-cbou", "-rLL=990n", input=text).stdout
            shown = help_of(program(name))
            own = set(OPTION.findall(shown))
            self.assertTrue(own, name)
            self.assertEqual(own - set(OPTION.findall(shown)), set(), f"{name}: not in the man page")
            others = set(OPTION.findall(shown.split("\nEXAMPLES")[0])) - own - {"--host", "--tensorboard"}
            self.assertEqual(others, set(), f"{name}: the man page speaks of options that --help does not")

    def test_they_list_every_variable_that_the_programs_read(self):
        names = set()
        for file in source_files(".cpp", ".h"):
            if file.startswith(("app/", "ipc/", "trainer/")):
                names |= set(re.findall(r'(?:getenv\(|findProgram\(|envname\()"(LOCKSTEP_\w+)"',
                                        (ROOT / file).read_text()))
        self.assertIn("LOCKSTEP_TORCH", names)
        for name, _, text in self.pages():
            self.assertEqual({one for one in names if one not in text} - INTERNAL, set(), name)

    def test_they_name_no_machine(self):
        for name, _, text in self.pages():
            self.assertNotIn(str(BUILD), text)
            self.assertNotIn(f" on {os.uname().nodename}", text, name)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        missing = [name for name in PROGRAMS if not program(name).exists()] + \
                  [tool for tool in ("dpkg-shlibdeps", "readelf", "file") if not shutil.which(tool)]
        if missing:
            print(f"skipped: {missing[0]} is not there", file=sys.stderr)
            raise unittest.SkipTest(f"{missing[0]} is not there")
        ran = run(ROOT / "packaging/package", BUILD)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        cls.deb = next((BUILD / "package").glob("*.deb"))
        cls.archive = next((BUILD / "package").glob("*.tar.gz"))
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-package-"))
        subprocess.run(["dpkg-deb", "-x", cls.deb, cls.folder / "deb"], check=True)
        (cls.folder / "tar").mkdir()
        subprocess.run(["tar", "-xzf", cls.archive, "-C", cls.folder / "tar"], check=True)
        cls.usr = cls.folder / "deb/usr"
        cls.home = cls.folder / "home"

    @classmethod
    def tearDownClass(cls):
        if hasattr(cls, "folder"):
            shutil.rmtree(cls.folder, ignore_errors=True)

    def binaries(self):
        lines = (path for path in self.usr.glob("lib/lockstep/lines/*/*/**/*") if path.is_file())
        return [self.usr / "libexec/lockstep/lockstep-trainer", *(self.usr / "bin" / name for name in PROGRAMS), *lines]

    def test_everything_is_in_both(self):
        wanted = {f"bin/{name}" for name in PROGRAMS} | {f"share/man/man1/{name}.1.gz" for name in PROGRAMS} | {
            "libexec/lockstep/lockstep-trainer", "share/applications/lockstep.desktop",
            "share/icons/hicolor/scalable/apps/lockstep.svg",
            "share/metainfo/io.github.lockstep.Lockstep.metainfo.xml", "share/doc/lockstep/copyright",
            "share/doc/lockstep/changelog.gz", "share/doc/lockstep/changelog.Debian.gz"}
        wanted |= {f"share/doc/lockstep/{path.relative_to(ROOT / 'docs')}" for path in (ROOT / "docs").rglob("*.md")}
        wanted |= {f"share/lockstep/recipes/{path.name}" for path in (ROOT / "resources/recipes").glob("*.json")}
        wanted |= {file.replace("resources/", "share/lockstep/", 1)
                   for file in source_files(".py", ".toml", "py.typed") if file.startswith("resources/python/")}
        self.assertIn("share/lockstep/python/lockstep/__init__.py", wanted)
        files = {str(path.relative_to(self.usr)) for path in self.usr.rglob("*") if path.is_file()}
        self.assertEqual(wanted - files, set())
        tree = next((self.folder / "tar").iterdir())
        self.assertEqual({str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}, files)

    def test_the_systems_python_imports_the_package_which_is_in_it_once(self):
        """/usr/bin/python3 of Debian and Ubuntu imports from /usr/lib/python3/dist-packages."""
        python = "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else sys.executable
        for tree in (self.usr, next((self.folder / "tar").iterdir())):
            ran = run(python, "-B", "-S", "-c", "import lockstep, lockstep_ddp; print(lockstep.__version__, lockstep.__file__)",
                      cwd=self.folder, environment={"PYTHONPATH": str(tree / "lib/python3/dist-packages")})
            self.assertEqual(ran.returncode, 0, ran.stderr)
            version, file = ran.stdout.split()
            self.assertTrue(run("dpkg-deb", "-f", self.deb, "Version").stdout.startswith(version + "-"), version)
            self.assertEqual(os.path.realpath(file), str(tree / "share/lockstep/python/lockstep/__init__.py"))
        self.assertEqual([path for path in self.usr.rglob("*") if path.suffix == ".pyc" or path.name.endswith(".egg-info")], [])

    def test_the_lines_of_pytorch_that_are_built_are_in_it_and_say_which_they_are(self):
        built = {path.parent.parent.name for path in BUILD.glob("lines/*/launcher/lockstep-trainer")}
        packed = self.usr / "lib/lockstep/lines"
        self.assertEqual({path.name for path in packed.glob("*")}, built)
        for version in built:
            ran = run(packed / version / "bin/lockstep-trainer", "--facts", environment={"LOCKSTEP_FACTS": "line", "LOCKSTEP_TORCH": ""})
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertTrue(version.startswith(json.loads(ran.stdout)["line"] + "."), ran.stdout)
            self.assertTrue((packed / version / "libexec/lockstep/lockstep-trainer").exists())
            self.assertTrue((packed / version / "bin/lockstep-agent").exists())

    def test_what_it_depends_on_is_computed_and_names_no_torch(self):
        fields = {field: run("dpkg-deb", "-f", self.deb, field).stdout.strip()
                  for field in ("Package", "Version", "Depends", "Recommends")}
        self.assertEqual(fields["Package"], "lockstep")
        for name in ("libc6 (>=", "libqt6charts6", "libqt6widgets6", "libqt6sql6-sqlite", "libspdlog", "libprotobuf-lite"):
            self.assertIn(name, fields["Depends"])
        self.assertNotRegex(fields["Depends"], r"torch|cuda|nvidia|nccl|python")
        self.assertIn("python3-venv", fields["Recommends"])

    def test_no_binary_knows_the_machine_that_built_it(self):
        for path in self.binaries():
            dynamic = run("readelf", "-d", path).stdout
            # Beside itself an agent that was brought to a node finds its libraries; no other path is known.
            for paths in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
                self.assertEqual(paths, "$ORIGIN/../lib/lockstep", path.name)
            data = path.read_bytes()
            for folder in {str(ROOT), str(BUILD), str(TORCH), os.path.realpath(TORCH)}:
                at = data.find(os.fsencode(folder + "/"))
                self.assertEqual(at, -1, f"{path}: {data[max(0, at - 20):at + 120]}")

    def test_each_program_starts_from_where_it_was_unpacked(self):
        for tree in (self.usr, next((self.folder / "tar").iterdir())):
            for name in PROGRAMS:
                ran = run(tree / "bin" / name, "--version")
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertIn("0.", ran.stdout)

    def test_without_any_torch_the_trainer_says_the_way_out(self):
        fakes = self.folder / "no-python"
        fakes.mkdir(exist_ok=True)
        ran = run(self.usr / "bin/lockstep-trainer", "--epochs", "1",
                  environment={"PATH": str(fakes), "LOCKSTEP_HOME": str(self.home), "LOCKSTEP_TORCH": ""})
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr.count("\n")), (2, "", 1))
        self.assertIn("no PyTorch 2.11 was found: python3 imports none", ran.stderr)
        self.assertIn("run lockstepctl setup-torch", ran.stderr)
        ran = run(self.usr / "bin/lockstep-trainer", environment={"LOCKSTEP_TORCH": str(fakes)})
        self.assertEqual((ran.returncode, ran.stderr.count("\n")), (2, 1))
        self.assertIn(f"LOCKSTEP_TORCH: {fakes} holds no torch", ran.stderr)

    def test_the_trainer_trains_and_stays_one_process(self):
        if not pathlib.Path("/usr/share/datasets/fashion-mnist").exists() and not run(
                "dpkg-query", "-s", "dataset-fashion-mnist").returncode == 0:
            self.skipTest("dataset-fashion-mnist is not installed")
        environment = dict(os.environ, LOCKSTEP_TORCH=str(TORCH), LOCKSTEP_HOME=str(self.home))
        environment.pop("LD_LIBRARY_PATH", None)
        process = subprocess.Popen([self.usr / "bin/lockstep-trainer", "--epochs", "1", "--train-samples", "6400",
                                    "--summary", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment)
        seen, until = "", time.monotonic() + 20
        while time.monotonic() < until and "libexec" not in seen and process.poll() is None:
            seen = os.readlink(f"/proc/{process.pid}/exe")
            time.sleep(0.005)
        out, error = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 0, error)
        self.assertIn('"epochs"', out)
        self.assertEqual(seen, str(self.usr / "libexec/lockstep/lockstep-trainer"))

    def test_the_changelog_reads_in_debians_own_parser(self):
        need(self, "dpkg-parsechangelog")
        text = gzip.open(self.usr / "share/doc/lockstep/changelog.Debian.gz", "rt").read()
        ran = run("dpkg-parsechangelog", "-l-", "-S", "Version", input=text)
        self.assertEqual((ran.stdout.strip(), ran.stderr), (run("dpkg-deb", "-f", self.deb, "Version").stdout.strip(), ""))
        notes = (ROOT / "CHANGELOG.md").read_text().count("\n- ")
        self.assertEqual(text.count("\n  * "), notes)

    def test_lintian_finds_nothing(self):
        # There is no address to give, and no report in Debian's list to close.
        excused = "malformed-contact,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs"
        ran = run(need(self, "lintian"), "--fail-on", "error,warning", "--suppress-tags", excused, self.deb)
        self.assertEqual(ran.returncode, 0, ran.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--torch", type=pathlib.Path, default="")
    given, rest = parser.parse_known_args()
    BUILD, TORCH = given.build.resolve(), given.torch
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
