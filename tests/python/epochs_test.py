#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""When an epoch ends, in scripts that work on after their loader's end or go through it several times in a step. With a clock that is set by
hand; needs no PyTorch."""
import unittest

from hand_clock import Script, times


class EpochsTest(unittest.TestCase):
    def test_work_after_a_loaders_end_is_of_its_epoch_until_another_iterator_is_made_or_fetched_from(self):
        for following in ("opened", "fetched", "validation", "finish"):
            with self.subTest(following):
                script = Script()
                script.fetch(1, 2)
                script.backward(10)
                script.end_of(1)
                for _ in range(4):
                    script.optimize(3)
                    script.backward(10)
                self.assertEqual(script.heard.epochs, [])
                if following == "opened":
                    script.open(2, 1)
                elif following != "finish":
                    script.fetch(2 if following == "fetched" else 12, 1)
                ended = script.heard.epochs if following != "finish" else script.finish()
                self.assertEqual([epoch[:2] for epoch in ended], [(4, 0)])  # several steps of one batch: how many samples is unknown

    def test_the_steps_of_an_epoch_are_reported_at_its_loaders_end_and_what_follows_it_is_not_in_its_time(self):
        script = Script()
        for epoch in range(2):
            for _ in range(3):
                script.train(epoch, 3)
            script.end_of(epoch, 1)
            self.assertEqual(sum(script.heard.counts), 3 * (epoch + 1))
            script.wait(1000)  # an evaluation without a loader
        self.assertEqual(script.finish(), [(3, 12, 61, times(3, {"load": 7}))] * 2)

    def test_an_optimizers_step_before_each_pass_is_no_epoch(self):
        script = Script()
        for epoch in range(3):
            if epoch:
                script.optimize(3)
            for _ in range(4):
                script.train(epoch, 4)
            script.end_of(epoch)
            script.wait(1000)
        self.assertEqual([epoch[:3] for epoch in script.finish()], [(5, 16, 83), (5, 16, 83), (4, 16, 80)])

    def test_a_step_whose_loss_can_not_be_computed_is_none_and_the_next_ones_count(self):
        script = Script()
        for number in range(20):
            script.fetch(1, 2)
            script.follower.optimizer_begins(1)
            if number != 3:  # else its closure raises before its backward
                script.backward(10)
                script.follower.optimizer_ends(1)
        script.end_of(1)
        self.assertEqual([epoch[:2] for epoch in script.finish()], [(19, 80)])

    def test_steps_of_several_batches_of_which_as_many_are_fetched_ahead(self):
        for together, batches, steps in ((2, 8, 4), (3, 11, 4), (1, 5, 5)):
            with self.subTest(together=together):
                script = Script()
                for epoch in range(3):
                    given = 0
                    for step in range(-1, steps):
                        for _ in range(together):
                            if given < batches:
                                script.fetch(epoch, 2)
                                given += 1
                            else:
                                script.end_of(epoch)
                        if step >= 0:
                            script.work()
                self.assertEqual([epoch[:2] for epoch in script.finish()], [(steps, 4 * batches)] * 3)

    def test_two_loaders_of_which_one_batch_each_is_fetched_ahead_lose_none(self):
        for backwards in (1, 2):
            with self.subTest(backwards=backwards):
                script = Script()
                for epoch in range(3):
                    for iterator in (epoch, 100 + epoch):
                        script.open(iterator, 0)
                    for step in range(6):
                        for iterator in (epoch, 100 + epoch):
                            if step < 5:
                                script.fetch(iterator, 2, 5, data=iterator // 100)
                            elif iterator == epoch or backwards == 2:
                                script.end_of(iterator)
                        for _ in range(backwards if step else 0):
                            script.backward(10)
                        if step:
                            script.optimize(3)
                self.assertEqual([epoch[:2] for epoch in script.finish()], [(5, 40)] * 3)

    def test_an_optimizer_that_computes_the_loss_uses_one_batch_where_others_are_fetched_ahead(self):
        for ahead in (1, 2):
            for passes in (1, 3):
                with self.subTest(ahead=ahead, passes=passes):
                    script = Script()
                    for epoch in range(3):
                        for number in range(5 + ahead):
                            script.fetch(epoch, 2) if number < 5 else script.end_of(epoch)
                            if number < ahead:
                                continue
                            script.follower.optimizer_begins(1, False)
                            for again in range(passes):
                                script.follower.backward_begins(1.0, script.ns, again > 0)
                                script.follower.backward_ends(script.ns)
                            script.follower.optimizer_ends(1, False)
                    self.assertEqual([epoch[:2] for epoch in script.finish()], [(5, 20)] * 3)
                    self.assertEqual({loss["max"] for loss in script.heard.losses}, {1.0})

    def test_the_passes_of_an_optimizer_that_goes_through_a_loader_at_moved_parameters_are_time_of_one(self):
        for persists in (False, True):
            with self.subTest(persists=persists):
                script = Script()
                for step in range(3):
                    script.follower.optimizer_begins(1, False)
                    for again in range(3):
                        iterator = 1 if persists else 3 * step + again
                        script.open(iterator, 1)
                        for _ in range(4):
                            script.fetch(iterator, 2, 4, data=7)
                            script.follower.backward_begins(7.0 if again else 0.25, script.ns, again > 0)
                            script.wait(10)
                            script.follower.backward_ends(script.ns)
                        script.end_of(iterator)
                    script.follower.optimizer_ends(1, False)
                self.assertEqual([epoch[:3] for epoch in script.finish()], [(1, 16, 3 * (1 + 4 * 12))] * 3)
                self.assertEqual({loss["max"] for loss in script.heard.losses}, {1.0})

    def test_a_batch_with_gradients_that_a_script_only_looks_at_now_and_then_is_no_part_of_a_step_and_begins_no_epoch(self):
        for data in (0, 9):  # the training's, a validation's
            for batches in (1, 2):
                with self.subTest(data=data, batches=batches):
                    script = Script()
                    for epoch in range(3):
                        for step in range(5):
                            script.fetch(epoch, 2, 5)
                            if step % 3 == 0:
                                script.open(100 + 10 * epoch + step, 40)
                                for _ in range(batches):
                                    script.fetch(100 + 10 * epoch + step, 30, 5, data=data)
                                script.follower.dropped(100 + 10 * epoch + step)
                            script.work()
                        script.end_of(epoch)
                    self.assertEqual(script.finish(), [(5, 20, 100, times(5))] * 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
