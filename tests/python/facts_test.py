#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is read of a script: the sizes of its batches, its metrics, what it says of itself. Needs no PyTorch."""
import collections
import hashlib
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest.mock import patch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources/python"))
from lockstep.batch_sizes import batch_size, listed_size  # noqa: E402
from lockstep.frame_reporter import FrameReporter  # noqa: E402
from lockstep.frames import descriptive_values  # noqa: E402
from lockstep.metrics import MetricLog, WriterTags  # noqa: E402
from lockstep.script_facts import Loader, splits_parameters  # noqa: E402
from lockstep.step_sizes import ALIKE, ALIKE_BY_SAMPLER, StepSizes  # noqa: E402
from lockstep.steps import EpochLog  # noqa: E402


class Tensor:
    shape = ()

    def __init__(self, *shape):
        self.shape = shape


def known(kind):
    """The class as if a library had it: its samplers are asked."""
    for method in (kind.__len__, kind.__iter__):
        method.__module__ = "torch.utils.data.sampler"
    return kind


@known
class Samples:
    """A sampler of so many samples."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        return iter(range(self.count))


@known
class Batches:
    """PyTorch's batch sampler."""

    def __init__(self, count, batch_size, drop_last=False):
        self.sampler, self.batch_size, self.drop_last = Samples(count), batch_size, drop_last

    def __len__(self):
        return self.sampler.count // self.batch_size if self.drop_last else -(-self.sampler.count // self.batch_size)

    def __iter__(self):
        raise AssertionError("the loader has begun it")


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

    def callback(self, module, library, base):
        """The callback for a library, without the library, and what it has told of the run."""
        for name in (module, library):
            self.addCleanup(sys.modules.pop, name, None)
        sys.modules[library] = types.SimpleNamespace(**{base: object})
        told = {}
        joining = patch("lockstep.auto.join", lambda **about: told.update({key: value for key, value in about.items() if value is not None}))
        joining.start()
        self.addCleanup(joining.stop)
        return importlib.import_module(module).Callback(), told

    def test_hugging_faces_trainer_tells_the_epochs_that_come_and_leaves_the_batch_size_to_the_steps(self):
        for epochs, steps, done, to_come in ((6, -1, 0, 6), (6, -1, 4.0, 2), (6, -1, 3.5, 3), (2.5, -1, 0, 3), (6, -1, None, 6), (6, 17, 0, None),
                                             (6, -1, 6.0, None)):
            with self.subTest(epochs=epochs, steps=steps, done=done):
                callback, told = self.callback("lockstep.huggingface", "transformers", "TrainerCallback")
                arguments = types.SimpleNamespace(num_train_epochs=epochs, max_steps=steps, train_batch_size=16, gradient_accumulation_steps=1,
                                                  world_size=2)
                callback.on_train_begin(arguments, types.SimpleNamespace(epoch=done), None)
                self.assertEqual(told, {} if to_come is None else {"epochs": to_come})

    def test_lightning_tells_the_epochs_that_come(self):
        for most, current, to_come in ((3, 0, 3), (3, 1, 2), (-1, 0, None), (None, 0, None), (3, 3, None)):
            with self.subTest(most=most, current=current):
                callback, told = self.callback("lockstep.lightning", "lightning.pytorch", "Callback")
                trainer = types.SimpleNamespace(max_epochs=most, current_epoch=0)
                callback.setup(trainer, None, "fit")
                trainer.current_epoch = current  # once it has read its checkpoint
                callback.on_train_start(trainer, None)
                self.assertEqual(told.get("epochs"), to_come)

    def test_a_parameter_that_is_split_over_ranks_is_found(self):
        class Split(Tensor):
            def __init__(self, shards, parameter):
                self.placements = [types.SimpleNamespace(is_shard=lambda: shards)]
                self._is_param = parameter

        with patch.dict(sys.modules, {"torch.distributed.tensor": types.SimpleNamespace(DTensor=Split)}):
            for shards, parameter, found in ((True, True, True), (False, True, False), (True, False, False)):
                one = [Split(shards, parameter)]
                self.assertEqual(splits_parameters(), found, (one, shards, parameter))
        self.assertFalse(splits_parameters())

    def test_samples_that_ranks_share_are_told_by_none(self):
        sent = []
        frames = FrameReporter(types.SimpleNamespace(pending=False, send=lambda kind, body: sent.append((kind, body))))
        frames.counts_samples = False
        log = EpochLog(1, 0, 0)
        for loss in (1.0, 3.0):
            log.add(loss, 16)
        frames.steps(log, True)
        frames.end_epoch(log, 1)
        self.assertEqual([(body["samples"], body["loss"] if kind == "epoch" else body["loss"]["mean"]) for kind, body in sent], [(0, 2.0)] * 2)

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

    def told(self, *epochs, enough=ALIKE_BY_SAMPLER, ends=True):
        """Which sizes are told of epochs with steps of these sizes, a report a step; `ends`: so does the script."""
        told = []
        sizes = StepSizes(enough, told.append)
        for steps in epochs:
            for number, size in enumerate(steps):
                sizes.take([size], number == len(steps) - 1)
        if ends:
            sizes.finish()
        return told

    def test_the_size_of_full_steps_is_told_once_as_soon_as_it_is_certain(self):
        self.assertEqual(self.told([64, 64, 64, 36], [64, 64, 64, 36], ends=False), [64])
        self.assertEqual(self.told([64, 64], ends=False), [])  # the last one may be no full one
        self.assertEqual(self.told([64, 64]), [64])
        self.assertEqual(self.told([16, 32, 32, 8], ends=False), [32])  # what belongs to the first one has shown at the second
        self.assertEqual(self.told([16, 32, 8], ends=False), [])
        self.assertEqual(self.told([16, 32, 8]), [32])
        self.assertEqual(self.told([64, 36], [64, 36], [64, 36], ends=False), [64])
        self.assertEqual(self.told([320], [320], ends=False), [])
        self.assertEqual(self.told([320], [320]), [320])
        self.assertEqual(self.told([64, 36]), [64])
        self.assertEqual(self.told(), [])

    def test_of_steps_of_varying_or_unknown_sizes_none_is_told(self):
        for epochs in ([22, 10, 24, 11, 12, 15],), ([64, 64, 32, 64],), ([64, 32, 32, 32],), ([64, 64, 96],), ([0, 0, 0, 0],), ([64, 0, 64, 64],):
            with self.subTest(epochs):
                self.assertEqual(self.told(*epochs), [])
        self.assertEqual(self.told([22, 10]), [22])  # a library's sampler fills its batches
        self.assertEqual(self.told([22, 10], enough=ALIKE), [])
        self.assertEqual(self.told([10, 12, 11], enough=ALIKE), [])

    def test_a_sampler_of_the_scripts_own_has_to_show_more_steps_that_are_alike(self):
        self.assertEqual(self.told([8] * ALIKE, enough=ALIKE, ends=False), [])
        self.assertEqual(self.told([8] * (ALIKE + 2), enough=ALIKE, ends=False), [8])
        self.assertEqual(self.told([8] * (ALIKE - 1) + [9, 8, 8], enough=ALIKE), [])
        self.assertEqual(self.told([8] * 20, enough=ALIKE), [8])
        for sampler, full in (Batches(70, 16), True), (types.SimpleNamespace(batch_size=16), False), (Samples(70), False), (None, False):
            self.assertEqual(Loader(types.SimpleNamespace(_index_sampler=sampler), 1).gives_full_batches, full)

    def test_a_tag_that_several_writers_give_has_a_name_for_each(self):
        tags = WriterTags()
        for tag, folder, name in (("loss", "runs/train", "loss"), ("loss", "runs/val", "val/loss"), ("loss", "runs/train", "loss"),
                                  ("f1", "runs/val", "f1"), ("loss", "other/val", "other/val/loss"), ("loss", "runs/val", "val/loss"),
                                  ("loss", "runs/train/1733000000.25", "loss"), ("loss", "", "loss")):
            self.assertEqual(tags.name(tag, folder), name)
        for number in range(2000):
            tags.name(f"tag{number}", "runs/train")
        self.assertEqual(tags.name("loss", "runs/more"), "runs/more/loss")

    def sizes(self, expected, *batches, length=9):
        """What is read of the batches of one iterator."""
        iterator = types.SimpleNamespace(_index_sampler=types.SimpleNamespace(batch_size=expected))
        loader = Loader(iterator, 1)
        loader.length = length
        return [loader.samples(batch, iterator) for batch in batches]

    def passes(self, sampler, *batches, collate=None):
        """The same of an iterator that passes through its sampler's batches."""
        iterator = types.SimpleNamespace(_index_sampler=sampler, _num_yielded=0, _collate_fn=collate)
        loader, sizes = Loader(iterator, 1), []
        for batch in batches:
            iterator._num_yielded += 1
            sizes.append(loader.samples(batch, iterator))
        return sizes

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
        self.assertEqual(self.sizes(32, (Tensor(20, 32), Tensor(3, 9)), length=1), [0])

    def test_the_size_of_a_batch_of_a_loader_without_a_batch_size_is_what_all_its_tensors_have_in_common(self):
        for kind, batches, sizes in (
            ("alone", [(Tensor(20, 32),)], [20]),
            ("texts", [{"input_ids": Tensor(n, 512), "labels": Tensor(n, 512), "scale": Tensor()} for n in (8, 3)], [8, 3]),
            ("time first", [(Tensor(20, n), Tensor(n)) for n in (16, 16, 5)], [16, 16, 5]),
            ("a graph", [(Tensor(2, 100), Tensor(90, 8), Tensor(32))], [0]),
            ("two that all have", [(Tensor(20, 16), Tensor(16, 20))], [0]),
            ("chunks of texts, of which the last is short", [(Tensor(10, 20), Tensor(n, 20)) for n in (10, 9, 10)], [10, 0, 0]),
            ("without tensors", ["text", {}], [0, 0])):
            with self.subTest(kind):
                self.assertEqual(self.sizes(None, *batches), sizes)

    def test_of_several_lengths_that_are_the_batch_size_by_chance_the_right_one_is_found_or_none(self):
        def image(boxes):
            return {"boxes": Tensor(boxes, 4), "labels": Tensor(boxes)}

        columns = [tuple(zip(*((Tensor(3, 9, 9), image(boxes)) for boxes in each))) for each in ((2, 1), (3, 1), (1,))]
        features = [[(Tensor(16), Tensor(1))] * n for n in (16, 16, 8)]
        time_first = [(Tensor(8, n, 3), Tensor(n, 1)) for n in (8, 8, 4)]
        packed = [((Tensor(8 * n, 3), Tensor(8), None, None), Tensor(n, 1)) for n in (8, 8, 4)]
        for kind, size, batches, sizes in (
            ("as many boxes as images", 2, columns, [2, 2, 1]),
            ("in a dictionary", 3, [{"image": [Tensor(3, 9)] * n, "boxes": [Tensor(2, 4)] * n} for n in (3, 3, 1)], [3, 3, 1]),
            ("samples with as many features", 16, features, [16, 16, 8]),
            ("one tensor a sample", 16, [[Tensor(16)] * n for n in (16, 16, 8)], [16, 16, 8]),
            ("as many times", 8, time_first, [8, 8, 4]),
            ("times that grow", 8, [(Tensor(t, 8, 3), Tensor(8, 1)) for t in (8, 7, 9)], [8, 8, 8]),
            ("packed", 8, packed, [8, 8, 4]),
            ("two parts", 2, [[Tensor(n, 5), Tensor(n)] for n in (2, 2, 1)], [2, 2, 1]),
            ("a batch that is not full", 8, [[Tensor(3, 9, 9)] * 5], [5])):
            count = sum(sizes)
            with self.subTest(kind):
                self.assertEqual(self.passes(Batches(count, size), *batches), sizes)
                self.assertEqual(self.passes(Batches(count, size), *batches, *batches), sizes * 2)  # its workers persist
        self.assertEqual(self.sizes(8, *time_first), [8, 8, 4])  # the dimension that all tensors have
        # Nothing says which is right.
        self.assertEqual(self.sizes(8, [Tensor(3, 9, 9)] * 5), [0])
        self.assertEqual(self.sizes(8, *((Tensor(n), Tensor(n, 4)) for n in (8, 9, 8))), [8, 0, 0])
        self.assertEqual(self.passes(Batches(20, 8, drop_last=True), *time_first[:2]), [8, 8])

    def test_a_batch_that_pytorch_has_made_has_its_samples_in_the_first_dimension(self):
        def collate(samples):
            pass

        collate.__module__ = "torch.utils.data._utils.collate"
        stream = types.SimpleNamespace(batch_size=16)
        self.assertEqual(self.passes(stream, *((Tensor(n, 16), Tensor(n, 16)) for n in (16, 16, 7)), collate=collate), [16, 16, 7])
        images = [Tensor(n, 3, 32, 32) for n in (16, 40, 16)]  # of one of two processes, or of a sampler of the script's own
        self.assertEqual(self.passes(types.SimpleNamespace(batch_size=32), *images, collate=collate), [16, 40, 16])

    def test_a_loader_that_repeats_its_sampler_for_ever_is_as_long_as_one_pass_of_it(self):
        class Own(Batches):
            def __len__(self):
                raise AssertionError("it draws random numbers")

        def holding(sampler):
            return types.SimpleNamespace(sampler=sampler)

        for sampler, expected in ((holding(Batches(160, 8)), (True, 20)), (holding(Own(160, 8)), (True, None)),
                                  (holding(Samples(160)), (False, None)),  # it makes batches of samples
                                  (Batches(160, 8), (False, 20)), (Own(160, 8), (False, None)), (None, (False, None))):
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
