"""How long it takes to begin: `import twopan` and `twopan --help`, against bare Python.

    make bench

Each command is run in turn, many times; the table shows the median and the least. Run it on a
machine that does nothing else.
"""

import statistics
import subprocess
import sys
import time

RUNS = 21
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import twopan": [sys.executable, "-c", "import twopan"],
    "twopan --help": [sys.executable, "-m", "twopan", "--help"],
    "twopan gate --help": [sys.executable, "-m", "twopan", "gate", "--help"],
}


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            begun = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times[name].append(1000 * (time.perf_counter() - begun))
    bare = statistics.median(times["python -c pass"])
    print(f"{'':22}{'median ms':>10}{'least ms':>10}{'over bare Python':>18}")
    for name, found in times.items():
        median = statistics.median(found)
        print(f"{name:22}{median:10.0f}{min(found):10.0f}{median - bare:18.0f}")


if __name__ == "__main__":
    main()
