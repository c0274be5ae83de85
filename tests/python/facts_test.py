#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is read of a script: the sizes of its batches, its metrics, what it says of itself. Needs no PyTorch."""
import collections
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources/python"))
from lockstep.batch_sizes import batch_size, listed_size  # noqa: E402
from lockstep.frames import descriptive_values  # noqa: E402
from lockstep.metrics import MetricLog  # noqa: E402
from lockstep.script_facts import Loader  # noqa: E402


class Tensor:
    shape = ()

    def __init__(self, *shape):
        self.shape = shape


class FactsTest(unittest.TestCase):
    def test_tags_that_would_get_one_name_are_told_apart(self):
        log = MetricLog()
        for tag, value in (("损失", 1), ("精度", 2), ("a/b", 3), ("a_b", 4), ("x" * 60 + "1", 5), ("x" * 60 + "2", 6), ("损失", 3)):
            log.add(tag, value)
        taken = log.take()
        self.assertEqual(sorted(metric["sum"] for metric in taken.values()), [2, 3, 4, 4, 5, 6])
        self.assertTrue(all(len(name) <= 48 for name in taken))

    def test_values_that_nobody_takes_are_bounded(self):
        log = MetricLog()
        for value in range(20_000):
            log.add("loss", value)
        self.assertEqual(log.take()["loss"]["weight"], 10_000)

    def test_what_a_script_says_of_itself_is_numbers_and_short_texts(self):
        self.assertEqual(descriptive_values({"lr": 0.1, "betas": (0.9, 0.999), "name": "x" * 1000, "amp": True, "none": None}),
                         {"lr": 0.1, "betas": "[0.9, 0.999]", "name": "x" * 200, "amp": True, "none": None})

    def test_lists_of_samples_are_counted(self):
        image = Tensor(3, 32, 32)
        self.assertEqual(listed_size(((image,) * 5, (Tensor(1),) * 5)), 5)  # torchvision's references
        self.assertEqual(listed_size([{"image": image}] * 4), 4)  # detectron2
        self.assertEqual(listed_size((Tensor(8, 3), Tensor(8))), 0)
        self.assertEqual(batch_size((Tensor(8, 3), Tensor(8))), 8)

    def test_a_scripts_own_files_are_named_by_their_digests(self):
        with tempfile.TemporaryDirectory() as folder:
            where = pathlib.Path(folder)
            package = pathlib.Path(__file__).resolve().parents[2] / "resources/python"
            for name, text in (("parts/model.py", "x = 1\n"), ("parts/__init__.py", ""), ("unused.py", "x = 2\n"),
                               (".venv/lib/site-packages/other.py", "x = 3\n"),
                               ("train.py", "import sys, json, types\nsys.path[:0] = ['.venv/lib/site-packages', %r]\n"
                                            "import other, parts.model\nsys.modules['odd'] = None\n"
                                            "sys.modules['own'] = types.SimpleNamespace()\n"
                                            "from lockstep.script_files import digests\nprint(json.dumps(digests()))\n" % str(package))):
                (where / name).parent.mkdir(parents=True, exist_ok=True)
                (where / name).write_text(text)
            own = json.loads(subprocess.run([sys.executable, "train.py"], cwd=where, check=True, capture_output=True, text=True).stdout)
            self.assertEqual(sorted(own), ["parts/__init__.py", "parts/model.py", "train.py"])
            self.assertEqual(own["parts/model.py"], hashlib.sha256(b"x = 1\n").hexdigest())
        self.assertEqual(subprocess.run([sys.executable, "-c", "from lockstep.script_files import digests; print(digests())"], cwd=package,
                                        check=True, capture_output=True, text=True).stdout, "{}\n")

    def sizes(self, expected, *batches, length=9):
        """What is read of the batches of one iterator."""
        loader = Loader(types.SimpleNamespace(_index_sampler=types.SimpleNamespace(batch_size=expected)), 1)
        loader.length = length
        return [loader.samples(batch) for batch in batches]

    def test_the_size_of_a_batch_is_read_where_a_full_one_has_the_loaders_batch_size(self):
        for kind, batches, sizes in (
            ("plain", [(Tensor(32, 8), Tensor(32)), (Tensor(5, 8), Tensor(5))], [32, 5]),
            ("time first, with targets", [(Tensor(50, 32, 8), Tensor(32, 1)), (Tensor(50, 7, 8), Tensor(7, 1))], [32, 7]),
            ("time first, alone", [Tensor(50, 32), Tensor(50, 7)], [32, 7]),
            ("a graph's edges first", [(Tensor(2, 100), Tensor(90, 8), Tensor(32)), (Tensor(2, 80), Tensor(70, 8), Tensor(9))], [32, 9]),
            ("lists of the samples' parts", [[[Tensor(3, 9, 9)] * n, [Tensor(1)] * n] for n in (32, 4)], [32, 4]),
            ("an object and a list", [(object(), ({"boxes": Tensor(6, 4)},) * 32), (object(), ({"boxes": Tensor(6, 4)},) * 3)], [32, 3]),
            ("a list of samples", [[[7] * n for n in range(32)], [[7] * n for n in range(5)]], [32, 5]),
            ("a part of what was asked for", [(Tensor(16, 8),), (Tensor(16, 8),)], [16, 16]),
            ("longer than was asked for", [(Tensor(2000, 8),), (Tensor(1000, 8),)], [0, 0]),
            ("nothing that has a size", [{"text": "a"}, 5], [0, 0])):
            with self.subTest(kind):
                self.assertEqual(self.sizes(32, *batches), sizes)
        self.assertEqual(self.sizes(32, (Tensor(20, 32),), length=1), [20])  # a small data set
        self.assertEqual(self.sizes(None, (Tensor(20, 32),)), [20])

    def test_a_loader_that_repeats_its_sampler_for_ever_is_as_long_as_one_pass_of_it(self):
        class Known(list):
            pass

        Known.__len__ = lambda self: 20
        Known.__len__.__module__ = "torch.utils.data.sampler"

        class Own(list):
            def __len__(self):
                raise AssertionError("it draws random numbers")

        for sampler, expected in ((types.SimpleNamespace(sampler=Known()), (True, 20)), (types.SimpleNamespace(sampler=Own()), (True, None)),
                                  (Known(), (False, 20)), (Own(), (False, None)), (None, (False, None))):
            with self.subTest(sampler=type(sampler).__name__, expected=expected):
                loader = Loader(types.SimpleNamespace(_index_sampler=sampler), 1)
                self.assertEqual((loader.endless, loader.length), expected)

    def test_looking_at_a_batch_changes_nothing_in_it_and_never_raises(self):
        class Keys(collections.defaultdict):
            __getattr__ = collections.defaultdict.__getitem__

        class Strict(dict):
            __getattr__ = dict.__getitem__

        class Broken:
            shape = property(lambda self: 1 // 0)

        batch = Keys(list, x=Tensor(8, 3))
        self.assertEqual(self.sizes(8, batch, Strict(x=Tensor(4, 3)), (Broken(),)), [8, 4, 0])
        self.assertEqual(list(batch), ["x"])

    def test_of_long_lists_only_the_beginning_is_looked_at(self):
        class Counts(list):
            seen = 0

            def __iter__(self):
                for part in list.__iter__(self):
                    Counts.seen += 1
                    yield part

        deep = Counts([Counts([Counts([Counts([(1,)] * 100)] * 100)] * 100)] * 100)
        self.assertEqual(batch_size([deep, Tensor(3)]), 0)
        self.assertEqual(batch_size(Counts([Counts([1] * 1000)] * 1000)), 0)
        self.assertLess(Counts.seen, 300)


if __name__ == "__main__":
    unittest.main(verbosity=2)
