#!/usr/bin/env python3
"""Records pairs of real load tests as a user would, compares them with `topotop diff` and checks the answers.

A pair passes where the application's own number comes first, an effect of 15 % or more has its direction, and the 95 %
interval contains the ratio of the figures that the programs print themselves. Another load in the second run (`foreign`),
a load that ends early (`ended`) or time that the hypervisor takes (`steal`) must leave the answer open for that reason. Of twenty pairs of neighbours in a row of
runs of one test (`same`, 60 samples each) at most one may differ, and three quarters must be `no_change`.
Half an hour to an hour on a quiet machine: `--only` runs a part, and Ctrl-C leaves nothing behind.
Needs postgresql, fio, redis, nginx, wrk and erlang-base (apt-get install), and root for two control groups. Exit status 1 if one failed.
"""

import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TPS = ["--metric", "tps=stderr:/, ([0-9.]+) tps/"]
EVERY = f"0-{os.cpu_count() - 1}"
# A page of nginx as a counter of the OpenMetrics text format.
RATE = """echo '# TYPE requests counter'
curl -s http://127.0.0.1:7480/status | awk 'NR == 3 { print "requests_total", $3 }'
echo '# EOF'
"""


class Failed(Exception):
    pass


def run(*command, timeout=300, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    return done.stdout


def user(name):
    """A server that refuses root gets a user of its own."""
    return ["runuser", "-u", name, "--"] if os.geteuid() == 0 else []


def number(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise Failed(f"no {pattern} in: {text[-300:]}")
    return float(found.group(1))


class Bench:
    """The directory, the recorder and everything that has to be ended."""

    def __init__(self, options):
        self.options = options
        self.dir = options.keep or tempfile.mkdtemp(prefix="pairs-", dir="/var/tmp")
        os.makedirs(self.dir, exist_ok=True)
        os.chmod(self.dir, 0o755)
        self.children = []
        self.count = 0
        self.within = []

    def start(self, *command):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.children.append(child)
        return child

    def stop(self, child):
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()

    def end(self):
        for child in reversed(self.children):
            self.stop(child)

    def record(self, name, metric, *command):
        """Records a command; gives the file and what the command printed."""
        self.count += 1
        path = os.path.join(self.dir, f"{self.count:03}-{name}.rec")
        if os.path.exists(path):
            os.remove(path)
        more = ["--anonymise"] if self.options.anonymise else []
        try:
            done = subprocess.run([*self.within, self.options.topotop, "record", "-o", path, *more, *metric, "--", *command],
                                  capture_output=True, text=True, timeout=4 * self.options.seconds + 120)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{name}: no end after {error.timeout:.0f} s") from error
        if done.returncode not in (0, 124):
            raise Failed(f"{name}: status {done.returncode}: {done.stderr[-300:]}")
        return path, done.stdout + done.stderr

    def diff(self, before, after):
        return json.loads(run(self.options.topotop, "diff", before, after, "--format", "json"))


class Postgres:
    def __init__(self, bench):
        self.bench = bench
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.data = tempfile.mkdtemp(prefix="pairs-pg-", dir="/var/tmp")
        self.who = user("postgres")
        if self.who:
            shutil.chown(self.data, "postgres", "postgres")
        where = os.path.join(self.data, "d")
        run(*self.who, f"{self.bin}/initdb", "-D", where, "-A", "trust", "-U", "postgres")
        self.server = bench.start(*self.who, f"{self.bin}/postgres", "-D", where, "-k", self.data, "-p", "7432",
                                  "-c", "listen_addresses=", "-c", "shared_buffers=256MB")
        for _ in range(100):
            if subprocess.run([f"{self.bin}/pg_isready", "-h", self.data, "-p", "7432"], capture_output=True).returncode == 0:
                break
            time.sleep(0.2)
        self.at = ["-h", self.data, "-p", "7432", "-U", "postgres"]
        run(f"{self.bin}/pgbench", *self.at, "-q", "-i", "-s", "20", "postgres")

    def pgbench(self, name, *more, cpus=None):
        """tps by the recording, and as pgbench sums it up itself."""
        pin = ["taskset", "-c", cpus] if cpus else []
        # The server's processes are its children: they take its CPUs.
        run("taskset", "-apc", cpus or EVERY, str(self.postmaster()))
        seconds = str(self.bench.options.seconds)
        path, text = self.bench.record(name, TPS, *pin, f"{self.bin}/pgbench", *self.at, "-n", "-P", "1", "-T", seconds,
                                       *more, "postgres")
        return path, number(r"tps = ([0-9.]+)", text)

    def postmaster(self):
        with open(os.path.join(self.data, "d", "postmaster.pid")) as file:
            return int(file.readline())

    def end(self):
        self.bench.stop(self.server)
        # The server outlives the program that changed its user.
        for _ in range(100):
            if not os.path.exists(os.path.join(self.data, "d", "postmaster.pid")):
                break
            time.sleep(0.1)
        shutil.rmtree(self.data, ignore_errors=True)


class Fio:
    """A bulk writer beside the load, in a control group of its own where it is throttled."""

    V1 = "/sys/fs/cgroup/blkio/topotop-pairs"

    def __init__(self, bench, throttled):
        self.bench, self.throttled = bench, throttled
        self.file = os.path.join(bench.dir, "fio.dat")
        command = ["fio", "--name=bulk", f"--filename={self.file}", "--size=1g", "--rw=randwrite", "--bs=256k", "--direct=1",
                   "--ioengine=libaio", "--iodepth=64", "--fsync=4", "--time_based", "--runtime=600"]
        self.group = os.path.isdir(os.path.dirname(self.V1)) and os.geteuid() == 0
        if not self.group:
            command += ["--rate=1m"] if throttled else []
        elif throttled:
            os.makedirs(self.V1, exist_ok=True)
            device = os.stat(bench.dir).st_dev
            with open(f"{self.V1}/blkio.throttle.write_bps_device", "w") as limit:
                limit.write(f"{os.major(device)}:{os.minor(device)} 1000000")
            command = ["sh", "-c", f'echo $$ > {self.V1}/cgroup.procs; exec "$@"', "sh", *command]
        self.child = bench.start(*command)
        time.sleep(3)

    def end(self):
        self.bench.stop(self.child)
        if os.path.isdir(self.V1):
            for _ in range(50):
                try:
                    os.rmdir(self.V1)
                    break
                except OSError:
                    time.sleep(0.1)
        if os.path.exists(self.file):
            os.remove(self.file)


class Redis:
    """A cache that has room, or evicts."""

    def __init__(self, bench, memory):
        self.bench = bench
        self.server = bench.start("redis-server", "--port", "7379", "--save", "", "--maxmemory", memory,
                                  "--maxmemory-policy", "allkeys-lru", "--maxmemory-samples", "64")
        for _ in range(50):
            if subprocess.run(["redis-cli", "-p", "7379", "ping"], capture_output=True).stdout.strip() == b"PONG":
                break
            time.sleep(0.1)

    def commands(self):
        return number(r"total_commands_processed:(\d+)", run("redis-cli", "-p", "7379", "info", "stats"))

    def bench_set(self, name):
        metric = ["--metric", "ops=command:redis-cli -p 7379 info stats#/instantaneous_ops_per_sec:([0-9]+)/"]
        start, before = time.monotonic(), self.commands()
        path, _ = self.bench.record(name, metric, "timeout", str(self.bench.options.seconds), "redis-benchmark", "-p", "7379",
                                    "-t", "set", "-l", "-q", "-d", "64", "-r", "300000", "-P", "64")
        return path, (self.commands() - before) / (time.monotonic() - start)

    def end(self):
        self.bench.stop(self.server)


class Nginx:
    def __init__(self, bench, workers):
        self.bench = bench
        self.dir = tempfile.mkdtemp(prefix="pairs-nginx-", dir="/var/tmp")
        os.chmod(self.dir, 0o755)
        with open(f"{self.dir}/page", "w") as page:
            page.write("x" * 64_000)
        with open(f"{self.dir}/conf", "w") as conf:
            conf.write(f"""worker_processes {workers}; daemon off; pid {self.dir}/pid; error_log /dev/null;
events {{ worker_connections 512; }}
http {{ access_log off; gzip_comp_level 6; gzip_types *; client_body_temp_path {self.dir}/a; proxy_temp_path {self.dir}/b;
fastcgi_temp_path {self.dir}/c; uwsgi_temp_path {self.dir}/d; scgi_temp_path {self.dir}/e;
server {{ listen 127.0.0.1:7480; root {self.dir}; gzip on; location /status {{ stub_status; }} }} }}
""")
        with open(f"{self.dir}/rate", "w") as rate:
            rate.write(RATE)
        self.server = bench.start("nginx", "-c", f"{self.dir}/conf", "-e", "/dev/null")
        time.sleep(1)

    def wrk(self, name, seconds=None):
        """For all of the time that is recorded, or so many seconds of it."""
        metric = ["--metric", f"requests=command:sh {self.dir}/rate#requests_total"]
        whole = self.bench.options.seconds
        load = (f"wrk -t 1 -c 16 -d {seconds or whole}s -H 'Accept-Encoding: gzip' http://127.0.0.1:7480/page; "
                f"sleep {whole - (seconds or whole)}")
        path, text = self.bench.record(name, metric, "sh", "-c", load)
        return path, number(r"Requests/sec:\s+([0-9.]+)", text)

    def end(self):
        self.bench.stop(self.server)
        shutil.rmtree(self.dir, ignore_errors=True)


def brokers(bench, name, cpus):
    """Nodes of Erlang on these CPUs."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nodes.py")
    path, text = bench.record(name, ["--metric", "messages=/total ([0-9]+) messages/"], "taskset", "-c", cpus, sys.executable,
                              script, str(bench.options.seconds))
    return path, number(r"mean of all: ([0-9.]+)", text)


class Other:
    """Another load: a busy loop for each CPU."""

    def __init__(self, bench):
        self.bench = bench
        self.children = [bench.start("sh", "-c", "while :; do :; done") for _ in range(os.cpu_count())]

    def end(self):
        for child in self.children:
            self.bench.stop(child)


# A /proc/stat of its own for the recorder, in which the hypervisor takes a third of the time of each CPU.
STEAL = """set -e
stat=$(mktemp) && cat /proc/stat > $stat
mount --make-rprivate / && exec 9< /proc/stat && mount --bind $stat /proc/stat
(taken=0
while :; do
    taken=$((taken + 3))
    awk -v taken=$taken '/^cpu[0-9]/ { $9 += taken } /^cpu / { $9 += cpus * taken } { print }' cpus=$(nproc) /proc/self/fd/9 > $stat.new
    cat $stat.new > $stat
    sleep 0.1
done) > /dev/null 2>&1 &
ticker=$!
"$@" && status=0 || status=$?
kill $ticker; rm -f $stat $stat.new
exit $status
"""


class Steal:
    """A busy host, as far as the recorder can see. Needs root."""

    def __init__(self, bench):
        self.bench = bench
        bench.within = ["unshare", "-m", "bash", "-c", STEAL, "steal"]

    def end(self):
        self.bench.within = []


def of(make, use):
    """One run of a load beside or on something that is there only for it."""
    thing = make()
    try:
        return use(thing)
    finally:
        thing.end()


def loads(bench):
    """Name, and both sides; each gives a recording and the program's own figure."""
    made = {}

    def postgres():
        if "postgres" not in made:
            made["postgres"] = Postgres(bench)
        return made["postgres"]

    select = ["-S", "-M", "prepared", "-j", "2"]
    sides = {
        "clients": (lambda: postgres().pgbench("clients-8", *select, "-c", "8"),
                    lambda: postgres().pgbench("clients-1", *select, "-c", "1")),
        "cpus": (lambda: postgres().pgbench("cpus-all", *select, "-c", "8", cpus=EVERY),
                 lambda: postgres().pgbench("cpus-one", *select, "-c", "8", cpus="0")),
        "throttle": (lambda: of(lambda: Fio(bench, False), lambda _: postgres().pgbench("bulk", "-c", "4")),
                     lambda: of(lambda: Fio(bench, True), lambda _: postgres().pgbench("bulk-throttled", "-c", "4"))),
        "redis": (lambda: of(lambda: Redis(bench, "1gb"), lambda redis: redis.bench_set("redis-room")),
                  lambda: of(lambda: Redis(bench, "20mb"), lambda redis: redis.bench_set("redis-evicts"))),
        "broker": (lambda: brokers(bench, "broker-one", "0"), lambda: brokers(bench, "broker-all", EVERY)),
        "nginx": (lambda: of(lambda: Nginx(bench, 1), lambda nginx: nginx.wrk("nginx-1")),
                  lambda: of(lambda: Nginx(bench, 4), lambda nginx: nginx.wrk("nginx-4"))),
    }
    web = lambda name, seconds=None, workers=4: of(lambda: Nginx(bench, workers), lambda nginx: nginx.wrk(name, seconds))
    sides |= {
        "foreign": (lambda: web("alone"), lambda: of(lambda: Other(bench), lambda _: web("crowded"))),
        "ended": (lambda: web("whole"), lambda: web("ends", 5)),
        "steal": (lambda: web("own"), lambda: of(lambda: Steal(bench), lambda _: web("stolen", workers=1))),
    }
    # The steadiest of these programs on a shared host: what is asked is what noise does to verdicts, not how much there is.
    return sides, lambda: web("same"), made


# Pairs that must stay open, and why.
OPEN = {"foreign": "foreign_cpu", "ended": "load_ended", "steal": "steal"}


def judged(name, document, ratio):
    """Whether the answer is right, and the line that says why not."""
    first = (document["application"] or [None])[0]
    if first is None:
        return False, "no number of the application", {}
    verdict, interval = first["verdict"], first.get("ratio")
    if name in OPEN:
        reason = first.get("reason")
        return (verdict, reason) == ("inconclusive", OPEN[name]), f"{reason}, expected {OPEN[name]}", first
    wanted = "improved" if ratio > 1 else "worse"
    if abs(ratio - 1) >= 0.15 and verdict != wanted:
        return False, f"{verdict} {first.get('reason') or ''}, expected {wanted}", first
    if verdict in ("improved", "worse", "no_change") and not (interval and interval[1] <= ratio <= interval[2]):
        return False, "the interval does not contain the ratio", first
    return True, first.get("reason") or "", first


def line(name, one, other, first, answer):
    """One pair: the programs' own figures, our interval, verdict, and whether that is right."""
    interval = "{:.3f} [{:.3f} to {:.3f}]".format(*first["ratio"]) if first.get("ratio") else "-"
    print(f"{name:<10}{one:>10.0f}{other:>10.0f}{other / one if one else 0:>8.3f}  {interval:<26}"
          f"{first.get('verdict', '-'):<14}{answer}", flush=True)


def pairs(bench, name, sides):
    """Pairs of a kind; gives how many failed."""
    failed = 0
    for _ in range(bench.options.repeat):
        try:
            (before, one), (after, other) = sides[0](), sides[1]()
            well, why, first = judged(name, bench.diff(before, after), other / one)
        except Failed as error:
            well, why, first, one, other = False, str(error), {}, 0, 0
        failed += not well
        line(name, one, other, first, f"{'pass' if well else 'FAIL'} {why}")
    return failed


def same(bench, load):
    """A row of runs of one load, neighbours compared; true if hardly any two differ and most are said to be the same."""
    options, verdicts, unnamed = bench.options, [], 0
    options.seconds = options.same_seconds
    before, one = load()
    for _ in range(options.same):
        after, other = load()
        first = (bench.diff(before, after)["application"] or [{}])[0]
        verdict, reason = first.get("verdict", "-"), first.get("reason") or ""
        verdicts.append(verdict)
        unnamed += verdict == "inconclusive" and not reason
        line("same", one, other, first, ("" if verdict in ("no_change", "inconclusive") else "differs ") + reason)
        before, one = after, other
    alike, undecided = verdicts.count("no_change"), verdicts.count("inconclusive")
    changed = len(verdicts) - alike - undecided
    well = changed <= 1 and alike >= 0.75 * len(verdicts) and not unnamed
    print(f"same: {alike} no change, {undecided} not decided, {changed} changed: {'pass' if well else 'FAIL'}", flush=True)
    return well


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--topotop", default="target/release/topotop")
    arguments.add_argument("--only", help="these, separated by commas: clients, cpus, throttle, redis, broker, nginx, foreign, ended, steal, same")
    arguments.add_argument("--seconds", type=int, default=30, help="of each run")
    arguments.add_argument("--repeat", type=int, default=3, help="of each pair")
    arguments.add_argument("--same", type=int, default=20, help="pairs of the same load")
    arguments.add_argument("--same-seconds", type=int, default=62, help="of each run of the same load")
    arguments.add_argument("--keep", metavar="DIR", help="keep the recordings there")
    arguments.add_argument("--anonymise", action="store_true", help="record so that a recording can be kept in tests/data")
    options = arguments.parse_args()
    # An end from outside goes through the same cleaning up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench = Bench(options)
    sides, load, made = loads(bench)
    names = options.only.split(",") if options.only else [*sides, "same"]
    unknown = [name for name in names if name not in (*sides, "same")]
    if unknown:
        arguments.error(f"unknown: {', '.join(unknown)}")
    failed = 0
    print(f"{'pair':<10}{'before':>10}{'after':>10}{'ratio':>8}  {'diff: ratio and 95 %':<26}{'verdict':<14}")
    try:
        for name in names:
            try:
                failed += not same(bench, load) if name == "same" else pairs(bench, name, sides[name])
            except Failed as error:
                failed += 1
                print(f"{name}: FAIL {error}", flush=True)
    finally:
        for thing in made.values():
            thing.end()
        bench.end()
        if not options.keep:
            shutil.rmtree(bench.dir, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
