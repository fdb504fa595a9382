"""Three Erlang nodes that pass messages, as brokers do; prints their sum every second, and the mean at the end."""

import subprocess
import sys
import threading
import time

LOAD = """
C = counters:new(1, []),
Queue = fun F() -> receive {m, From, _} -> counters:add(C, 1, 1), From ! ok, F() end end,
Producer = fun G(To) -> To ! {m, self(), lists:seq(1, 400)}, receive ok -> G(To) end end,
[begin To = spawn(Queue), spawn(fun() -> Producer(To) end) end || _ <- lists:seq(1, 4)],
Count = fun H() -> timer:sleep(200), io:format("~b~n", [counters:get(C, 1)]), H() end, Count().
"""


def main():
    counts = {}

    def read(node):
        for line in node.stdout:
            counts[node.pid] = int(line)

    erl = ["erl", "-noshell", "+sbwt", "none", "-eval", LOAD]
    nodes = [subprocess.Popen(erl, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    try:
        for node in nodes:
            threading.Thread(target=read, args=(node,), daemon=True).start()
        while len(counts) < len(nodes) or not all(counts.values()):
            if any(node.poll() is not None for node in nodes):
                sys.exit("a node has ended")
            time.sleep(0.1)
        begin, base = time.monotonic(), sum(counts.values())
        at, before = begin, base
        for _ in range(int(sys.argv[1])):
            time.sleep(1)
            now, total = time.monotonic(), sum(counts.values())
            print(f"total {(total - before) / (now - at):.0f} messages/s", flush=True)
            at, before = now, total
        print(f"mean of all: {(before - base) / (at - begin):.0f} per second", flush=True)
    finally:
        for node in nodes:
            node.kill()
            node.wait()


main()
