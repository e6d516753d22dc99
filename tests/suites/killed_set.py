"""A command whose process is killed when it reaches a step for the so-many-th time: STEP TIMES WORDS..."""

KILLED = """
import os, signal, sys
from dpdb import stopping
from dpdb.doors.cli.main import main
step, times, *words = sys.argv[1:]
left = int(times)
def reached(now):
    global left
    left -= now == step
    if now == step and left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
stopping.watchers.append(reached)
sys.exit(main(words))
"""
