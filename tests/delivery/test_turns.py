"""Gradings take turns: so many at once, first come, first served; a dead holder holds nobody up."""

import os
import signal
import subprocess
import sys
import threading
import time

from grading.delivery.turns import FOLDER, turn

HOLDER = "import sys, time; from pathlib import Path; from grading.delivery.turns import turn\n"
HOLDER += "with turn(Path(sys.argv[1]), print, 1): print('held', flush=True); time.sleep(60)"


def test_so_many_at_once_in_the_order_they_came(tmp_path):
    order, inside, most = [], [], []

    def one(number: int) -> None:
        with turn(tmp_path, lambda line: None, at_once=2):
            order.append(number)
            inside.append(number)
            most.append(len(inside))
            time.sleep(0.12)
            inside.remove(number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert (order, max(most)) == ([0, 1, 2, 3, 4, 5], 2)
    assert os.listdir(tmp_path / FOLDER) == ["last"]


def test_a_killed_holder_holds_nobody_up(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    said = []
    threading.Timer(0.3, holder.send_signal, [signal.SIGKILL]).start()
    with turn(tmp_path, said.append, at_once=1):
        assert said == ["waiting: 1 gradings come before yours"]
    holder.communicate()
