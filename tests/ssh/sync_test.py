#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a node needs is brought to it through a real sshd: by content, resumably, verified, switched at once. --soak brings the
whole of PyTorch's CPU libraries besides and trains with them."""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lab_hosts import Lab, only_in_a_soak, run_tests  # noqa: E402

arguments = None


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Sync(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-sync-")
        self.root = pathlib.Path(self.folder.name)
        self.lab = Lab(self.root, arguments.bin)

    def tearDown(self):
        self.lab.stop()
        self.folder.cleanup()

    def host(self, **environment):
        self.box = self.lab.add("box", environment)
        said = self.lab.ctl("nodes", "add", "box", "--untried")
        self.assertEqual(said.returncode, 0, said.stderr)
        return self.box

    def sync(self, *words, code=0, **more):
        said = self.lab.ctl("nodes", "sync", "box", "--json", *words, timeout=400, **more)
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        return {one["bundle"]: one for one in json.loads(said.stdout)} if code == 0 else said

    def own_torch(self):
        return {"LOCKSTEP_TORCH": arguments.torch}

    def data(self, size=3_000_000, names=4):
        """MNIST's files as far as a sync cares: the right names, other contents."""
        folder = self.lab.here / "data/mnist"
        folder.mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")[:names]):
            (folder / name).write_bytes(hashlib.shake_256(str(number).encode()).digest(size if number == 0 else 1000))
        return folder

    def test_a_node_gets_what_it_lacks_and_the_second_time_next_to_nothing(self):
        box = self.host(**self.own_torch())
        self.data()
        first = self.sync("--data", "mnist", "--tar")
        self.assertNotIn("torch", first, "the node has a PyTorch of the right version")
        moved = sum(one["moved_bytes"] for one in first.values())
        self.assertGreaterEqual(moved, sum(one["bytes"] for one in first.values()))
        shown = self.lab.ctl("nodes", "show", "box")
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
        self.assertIn("agent ", shown.stdout)
        self.assertRegex(shown.stdout, r"PyTorch 2\.\d+")  # the trainer that was brought starts there
        listed = json.loads((self.lab.here / "nodes.json").read_text())["nodes"][0]
        self.assertEqual(listed["agent"], f"{box.home}/sync/programs/current/bin/lockstep-agent")
        self.assertIn(" in " + arguments.torch.rstrip("/"), listed["torch"])
        scripts = box.home / "sync/programs/current/share/lockstep/python"
        package = pathlib.Path(__file__).resolve().parents[2] / "resources/python"  # whole, with what --auto puts first on a script's path
        self.assertEqual({file.relative_to(package) for file in package.glob("lockstep/**/*.py")}
                         - {file.relative_to(scripts) for file in scripts.glob("lockstep/**/*.py")}, set())
        imported = subprocess.run([sys.executable, "-B", "-S", "-c", "import lockstep, lockstep_ddp; lockstep.Run().close()"],
                                  env={"PYTHONPATH": str(scripts)}, cwd=self.root, capture_output=True, text=True)
        self.assertEqual((imported.returncode, imported.stderr), (0, ""))
        for name in ("train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
            self.assertEqual(sha256(box.home / "data/mnist" / name), sha256(self.lab.here / "data/mnist" / name))
        again = self.sync("--data", "mnist", "--tar")
        self.assertEqual(sum(one["moved_bytes"] for one in again.values()), 0)
        self.assertEqual({one["version"] for one in again.values()}, {one["version"] for one in first.values()})

        # One small file is another one: only that travels, and the old version stays beside the new.
        (self.lab.here / "data/mnist/t10k-labels-idx1-ubyte").write_bytes(b"z" * 900)
        third = self.sync("--data", "mnist", "--tar")
        moved_again = sum(one["moved_bytes"] for one in third.values())
        self.assertLess(moved_again, 0.01 * moved, f"{moved_again} of {moved}")
        self.assertEqual(third["data-mnist"]["moved_files"], 1)
        versions = box.home / "sync/data-mnist/versions"
        self.assertEqual(len(list(versions.iterdir())), 2)
        (self.lab.here / "data/mnist/t10k-labels-idx1-ubyte").write_bytes(b"y" * 900)
        self.sync("--data", "mnist", "--tar")
        self.assertEqual(len(list(versions.iterdir())), 2, "old versions are not pruned")
        self.assertEqual((box.home / "data/mnist/t10k-labels-idx1-ubyte").read_bytes(), b"y" * 900)
        print(f"first {moved / 1e6:.1f} MB, one small file later {moved_again / 1e3:.1f} kB ({moved_again / moved:.4%})")

    def test_a_version_that_a_program_runs_from_stays_until_it_is_over(self):
        box = self.host(**self.own_torch())
        self.data(names=4)
        first = self.sync("--data", "mnist", "--tar")["data-mnist"]["version"]
        versions = box.home / "sync/data-mnist/versions"
        program = shutil.copy("/bin/sleep", versions / first / "owner")
        owner = subprocess.Popen([program, "60"])
        self.addCleanup(owner.wait)
        self.addCleanup(owner.kill)

        def another(number):
            (self.lab.here / "data/mnist/t10k-labels-idx1-ubyte").write_bytes(bytes([number]) * 900)
            return self.sync("--data", "mnist", "--tar")["data-mnist"]["version"]

        newer = [another(number) for number in (1, 2)]
        self.assertEqual({path.name for path in versions.iterdir()}, {first, *newer})
        owner.kill()
        owner.wait()
        newer.append(another(3))
        self.assertEqual({path.name for path in versions.iterdir()}, set(newer[1:]))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "hiding this machine's Qt needs root and unshare")
    def test_lockstepctl_arrives_with_all_that_a_queue_needs(self):
        box = self.host(**self.own_torch())
        programs = self.sync("--tar")["programs"]
        current = box.home / "sync/programs/current"
        libraries = subprocess.run(["ldd", current / "bin/lockstepctl"], capture_output=True, text=True, check=True).stdout
        hidden = sorted({words[2] for words in map(str.split, libraries.splitlines()) if len(words) > 2 and "libQt6" in words[0]})
        self.assertTrue(hidden, libraries)
        self.assertTrue(all(path.startswith(str(current.resolve())) or "sync/programs" in path for path in hidden), hidden)
        # As on a machine without Qt: neither its libraries nor its plugins can be read.
        system = [str(path) for folder in ("/usr/lib", "/usr/lib64", "/lib")
                  for pattern in ("*/libQt6*.so*", "*/libicu*.so*", "*/qt6/plugins/sqldrivers/*.so", "libQt6*.so*")
                  for path in pathlib.Path(folder).glob(pattern)]
        self.assertTrue(system)
        script = 'home="$1"; program="$2"; shift 2; for f in "$@"; do mount --bind /dev/null "$f" || exit 9; done; cd / && exec env -i PATH=/usr/bin:/bin HOME="$home" LOCKSTEP_HOME="$home" '
        for words, wanted in (("remote hello", '"queues":1'), ("list --json", '"runs"')):
            said = subprocess.run(["unshare", "-m", "sh", "-c", script + f'"$program" {words}', "sh", box.home, current / "bin/lockstepctl",
                                   *sorted({os.path.realpath(path) for path in system})], capture_output=True, text=True)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn(wanted, said.stdout)
        self.assertIn(f'"agent":"{current}/bin/lockstep-agent"', self.lab.ctl("nodes", "list", "--json").stdout.replace('": "', '":"'))
        self.assertEqual(json.loads(self.remote(box, "hello"))["agent"], str(current.resolve() / "bin/lockstep-agent"))
        print(f"programs: {programs['bytes'] / 1e6:.1f} MB in {programs['files']} files, of it for lockstepctl "
              f"{self.bytes_of_lockstepctl(current) / 1e6:.1f} MB")

    def remote(self, box, word):
        """What the lockstepctl that was brought says, started over ssh as `run --queue-on` does."""
        program = box.home / "sync/programs/current/bin/lockstepctl"
        said = subprocess.run(["ssh", *self.lab.environment["LOCKSTEP_SSH_OPTIONS"].split(), "box", f"{program} remote {word}"],
                              capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        return said.stdout

    @staticmethod
    def bytes_of_lockstepctl(current):
        """Of the program and the libraries that neither agent nor trainer want."""
        def of(program):
            listed = subprocess.run(["ldd", current / program], capture_output=True, text=True).stdout.splitlines()
            return {words[2] for words in map(str.split, listed) if len(words) > 2 and "sync/programs" in words[2]}
        own = of("bin/lockstepctl") - of("bin/lockstep-agent") - of("bin/lockstep-trainer") - of("libexec/lockstep/lockstep-trainer")
        return sum(os.stat(path).st_size for path in own | {current / "bin/lockstepctl"})

    def write_waiting_tar(self, go_on):
        """A folder with a tar that takes 20 MB of a data set, and the rest once the file is there: a quick machine would be done
        before anybody could cut the link."""
        folder = self.root / "waiting"
        folder.mkdir()
        tar = folder / "tar"
        tar.write_text(f"""#!/bin/sh
case "$PWD" in
*/sync/data-mnist/incoming-*)
    {{ head -c 20000000; while [ ! -e '{go_on}' ]; do sleep 0.05; done; cat; }} | {shutil.which("tar")} "$@" ;;
*) exec {shutil.which("tar")} "$@" ;;
esac
""")
        tar.chmod(0o755)
        return f"{folder}:{os.environ['PATH']}"

    def test_a_cut_link_is_gone_on_with_and_never_switches_half_a_version(self):
        go_on = self.root / "go-on"
        box = self.host(**self.own_torch(), PATH=self.write_waiting_tar(go_on))
        folder = self.data(size=60_000_000)
        cut = threading.Event()

        def cut_midway():
            while not cut.is_set():
                for part in (box.home / "sync/data-mnist").glob("incoming-*/train-images-idx3-ubyte"):
                    if part.stat().st_size > 5_000_000:
                        box.cut_links()
                        cut.set()
                        return
                time.sleep(0.002)

        watcher = threading.Thread(target=cut_midway)
        watcher.start()
        said = self.lab.ctl("nodes", "sync", "box", "--data", "mnist", "--tar", timeout=300)
        was_cut = cut.is_set()
        cut.set()
        watcher.join()
        self.assertTrue(was_cut, "the copy was over before the cut")
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("resumes where it stopped", said.stderr)
        self.assertFalse((box.home / "data/mnist").exists(), "half a version was switched to")
        go_on.touch()
        there = next((box.home / "sync/data-mnist").glob("incoming-*/train-images-idx3-ubyte")).stat().st_size
        reports = self.sync("--data", "mnist", "--tar")
        self.assertLessEqual(reports["data-mnist"]["moved_bytes"], 60_100_000 - there + 100_000)
        self.assertEqual(sha256(box.home / "data/mnist/train-images-idx3-ubyte"), sha256(folder / "train-images-idx3-ubyte"))
        self.assertEqual(list((box.home / "sync/data-mnist").glob("incoming-*")), [])
        print(f"cut at {there / 1e6:.1f} of 60 MB, then {reports['data-mnist']['moved_bytes'] / 1e6:.1f} MB more")

    def test_what_was_damaged_on_the_node_is_mended(self):
        box = self.host(**self.own_torch())
        folder = self.data()
        self.sync("--data", "mnist", "--tar")
        damaged = box.home / "data/mnist/train-images-idx3-ubyte"
        damaged.write_bytes(b"x" + damaged.read_bytes()[1:])
        reports = self.sync("--data", "mnist", "--tar")
        self.assertEqual(reports["data-mnist"]["moved_files"], 1)
        self.assertEqual(sha256(damaged), sha256(folder / damaged.name))

    def test_a_half_sent_beginning_of_another_file_is_not_built_upon(self):
        box = self.host(**self.own_torch())
        folder = self.data()
        first = self.sync("--data", "mnist", "--tar")["data-mnist"]["version"]
        shutil.move(box.home / f"sync/data-mnist/versions/{first}", box.home / f"sync/data-mnist/incoming-{first}")
        part = box.home / f"sync/data-mnist/incoming-{first}/train-images-idx3-ubyte"
        part.write_bytes(b"something else")
        self.sync("--data", "mnist", "--tar")
        self.assertEqual(sha256(box.home / "data/mnist/train-images-idx3-ubyte"), sha256(folder / part.name))

    def test_rsync_is_used_where_both_have_it(self):
        if not shutil.which("rsync"):
            self.skipTest("no rsync here; install rsync to test that way")
        box = self.host(**self.own_torch(), PATH=os.environ["PATH"])
        folder = self.data()
        reports = self.sync("--data", "mnist")
        self.assertEqual({one["by"] for one in reports.values()}, {"rsync"})
        with open(folder / "train-images-idx3-ubyte", "r+b") as file:  # a change within a large file
            file.seek(1_500_000)
            file.write(b"changed")
        again = self.sync("--data", "mnist")["data-mnist"]
        self.assertLess(again["moved_bytes"], 60_000, "rsync did not build upon the version before")
        self.assertEqual(sha256(box.home / "data/mnist/train-images-idx3-ubyte"), sha256(folder / "train-images-idx3-ubyte"))
        print(f"seven bytes of 3 MB changed: {again['moved_bytes']:.0f} bytes sent")

    def test_another_processor_is_reported_before_anything_is_copied(self):
        tools = self.root / "tools"
        tools.mkdir()
        for name, text in (("uname", 'if [ "$1" = -m ]; then echo riscv64; else exec /usr/bin/uname "$@"; fi\n'),):
            (tools / name).write_text("#!/bin/sh\n" + text)
            (tools / name).chmod(0o755)
        box = self.host(**self.own_torch(), PATH=f"{tools}:{os.environ['PATH']}")
        said = self.sync(code=2)
        self.assertIn("riscv64", said.stderr)
        self.assertFalse((box.home / "sync").exists(), "something was copied")

    def test_an_older_glibc_is_reported_before_anything_is_copied(self):
        tools = self.root / "tools"
        tools.mkdir()
        (tools / "getconf").write_text("#!/bin/sh\necho glibc 2.17\n")
        (tools / "getconf").chmod(0o755)
        box = self.host(**self.own_torch(), PATH=f"{tools}:{os.environ['PATH']}")
        said = self.sync(code=2)
        self.assertIn("glibc 2.17", said.stderr)
        self.assertFalse((box.home / "sync").exists(), "something was copied")

    @only_in_a_soak("half a gigabyte")
    def test_pytorch_itself_is_brought_and_trains(self):
        box = self.host(LOCKSTEP_TORCH="", PATH="/usr/local/bin:/usr/bin:/bin")
        first = self.sync("--tar", "--torch")
        self.assertGreater(first["torch"]["bytes"], 100e6)
        again = self.sync("--tar", "--torch")
        moved = sum(one["moved_bytes"] for one in again.values())
        total = sum(one["moved_bytes"] for one in first.values())
        self.assertLess(moved, 0.01 * total)
        shown = self.lab.ctl("nodes", "show", "box")
        self.assertRegex(shown.stdout, r"PyTorch 2\.\d+")
        trainer = box.home / "sync/programs/current/bin/lockstep-trainer"
        environment = {"LOCKSTEP_HOME": str(box.home), "PATH": "/usr/bin:/bin", "HOME": str(box.home)}
        facts = json.loads(subprocess.run([trainer, "--facts"], env=environment, capture_output=True, text=True, check=True).stdout)
        self.assertTrue(facts["torch_folder"].startswith(str(box.home)), facts["torch_folder"])
        trained = subprocess.run([trainer, "--dataset", "fashion-mnist", "--train-samples", "640", "--epochs", "1", "--batch-size", "64"],
                                 env=environment, capture_output=True, text=True)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        print(f"PyTorch's part: {first['torch']['bytes'] / 1e6:.0f} MB in {first['torch']['files']} files")


def main():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    parser.add_argument("--torch", required=True, help="the torch folder that a node has of its own")
    parser.add_argument("--soak", action="store_true")
    arguments, rest = parser.parse_known_args()
    return run_tests(rest, "tar")


if __name__ == "__main__":
    sys.exit(main())
