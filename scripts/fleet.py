#!/usr/bin/env python3
"""topotop serve under real programs: Prometheus, VictoriaMetrics, node_exporter; as root, on loopback only.

fleet.py [--topotop FILE] [--minutes N] [--hosts N] [--only boards,docs,scrape,cost,attack,fleet]

Each part prints its figures and ends what it started. Exit status 1 if something is not as it should be.
"""
import argparse, glob, json, os, re, shutil, signal, socket, statistics, subprocess, sys, tempfile, threading, time
import urllib.error, urllib.parse, urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RULES = sorted(glob.glob(f"{TOP}/dist/prometheus/*.rules.yml"))
# The types of Grafana's schema as Grafana publishes them for Python.
GRAFANA_TYPES = "grafana-foundation-sdk==1769699998!10.1.0"
TICKS = os.sysconf("SC_CLK_TCK")
started, failures = [], []


def start(*words, **more):
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    started.append(child)
    return child


def stop(*children):
    for child in children:
        child.terminate()
    for child in children:
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()


def check(good, text):
    print(("  ok    " if good else "  WRONG ") + text, flush=True)
    if not good:
        failures.append(text)


def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url, accept=None):
    request = urllib.request.Request(url, headers={"Accept": accept} if accept else {})
    return urllib.request.urlopen(request, timeout=30).read().decode()


def wait(url, seconds=120):
    end = time.time() + seconds
    while time.time() < end:
        try:
            return get(url)
        except OSError:
            time.sleep(0.2)
    raise SystemExit(f"fleet.py: {url} does not answer")


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) / 1024


def sockets(pid):
    links = [os.readlink(link) for link in glob.glob(f"/proc/{pid}/fd/*") if os.path.islink(link)]
    return sum(link.startswith("socket:") for link in links)


def serve(*more):
    at = port()
    child = start(args.topotop, "serve", "--listen", f"127.0.0.1:{at}", *more)
    wait(f"http://127.0.0.1:{at}/metrics")
    return child, at


def prometheus(place, ports, every="5s"):
    at = port()
    targets = json.dumps([f"127.0.0.1:{one}" for one in ports])
    config = f"{place}/prometheus.yml"
    open(config, "w").write(
        f"global: {{scrape_interval: {every}, evaluation_interval: {every}}}\nrule_files: {json.dumps(RULES)}\n"
        f"scrape_configs:\n  - job_name: topotop\n    static_configs: [{{targets: {targets}}}]\n")
    child = start("prometheus", f"--config.file={config}", f"--storage.tsdb.path={place}/data",
                  f"--web.listen-address=127.0.0.1:{at}", cwd=place)
    wait(f"http://127.0.0.1:{at}/-/ready")
    return child, f"http://127.0.0.1:{at}"


def victoria(place, ports):
    at, targets = port(), json.dumps([f"127.0.0.1:{one}" for one in ports])
    config = f"{place}/victoria.yml"
    open(config, "w").write(
        f"global: {{scrape_interval: 5s}}\nscrape_configs:\n  - job_name: topotop\n    static_configs: [{{targets: {targets}}}]\n")
    child = start("victoria-metrics", f"-promscrape.config={config}", f"-storageDataPath={place}/victoria",
                  f"-httpListenAddr=127.0.0.1:{at}")
    wait(f"http://127.0.0.1:{at}/health")
    return child, f"http://127.0.0.1:{at}"


def query(base, text, since=None):
    now = time.time()
    fields = {"query": text} if since is None else {"query": text, "start": now - since, "end": now, "step": 15}
    path = "query" if since is None else "query_range"
    return json.loads(get(f"{base}/api/v1/{path}?{urllib.parse.urlencode(fields)}"))["data"]["result"]


def panels(boards="*"):
    for file in sorted(glob.glob(f"{TOP}/dist/grafana/topotop-{boards}.json")):
        board = json.load(open(file))
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                yield board["uid"], panel["title"], target


def lost(ours, theirs, at=""):
    """What is not there, or is something else, in what a schema made of a document."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            yield from lost(value, theirs[key], f"{at}.{key}") if key in theirs else [f"{at}.{key}"]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs)):
            yield from lost(one, other, f"{at}[{number}]")
    elif ours != theirs:
        yield at


def part_boards(place):
    """Each dashboard as Grafana's own types read and write it: nothing is lost."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--root-user-action=ignore"]
    subprocess.run([*pip, "--target", place, GRAFANA_TYPES], check=True)
    sys.path.insert(0, place)
    from grafana_foundation_sdk.cog import encoder, plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard
    plugins.register_default_plugins()
    for file in sorted(glob.glob(f"{TOP}/dist/grafana/*.json")):
        board = json.load(open(file))
        back = json.loads(encoder.JSONEncoder().encode(Dashboard.from_json(board)))
        missing = list(lost(board, back))
        check(not missing, f"{os.path.basename(file)}: {len(board['panels'])} panels, not in the schema: {missing or 'nothing'}")


def part_docs(place):
    """The configurations of docs/fleet.md, as the engines take them."""
    token = f"{place}/token"
    open(token, "w").write("0123456789abcdef\n")
    text = open(f"{TOP}/docs/fleet.md").read().replace("/etc/prometheus/topotop.token", token)
    text = text.replace("/usr/share/topotop/prometheus/", f"{TOP}/dist/prometheus/")
    for number, config in enumerate(re.findall(r"```yaml\n(.*?)```", text, re.S)):
        file = f"{place}/{number}.yml"
        open(file, "w").write(config)
        engines = [["victoria-metrics", f"-promscrape.config={file}", "-promscrape.config.strictParse=false", "-promscrape.config.dryRun"]]
        # Debian's Prometheus is built without Kubernetes.
        if "kubernetes_sd_configs" not in config:
            engines.append(["promtool", "check", "config", file])
        for words in engines:
            tool = subprocess.run(words, capture_output=True, text=True)
            check(tool.returncode == 0, f"{words[0]} takes configuration {number + 1} {tool.stderr[-200:] if tool.returncode else ''}")


def ask(base, target, instances):
    """The most that one of the instances gives."""
    results = []
    for instance in instances if "$instance" in target["expr"] else [""]:
        text = target["expr"].replace("$__rate_interval", "1m").replace("$instance", instance)
        results = max(results, query(base, text, None if target["instant"] else 600), key=len)
    return results


class Wide(threading.Thread):
    """A machine of 256 CPUs, so many that they are counted by node: one of them in soft interrupts."""

    def __init__(self, place):
        super().__init__(daemon=True)
        self.place, self.step, self.over = place, 0, threading.Event()
        for node in (0, 1):
            self.put(f"sys/devices/system/node/node{node}/cpulist", f"{128 * node}-{128 * node + 127}\n")
        for name in ("online", "possible", "has_cpu"):
            self.put(f"sys/devices/system/node/{name}", "0-1\n")
        for name in ("online", "possible", "present"):
            self.put(f"sys/devices/system/cpu/{name}", "0-255\n")
        for cpu in range(256):
            self.put(f"sys/devices/system/cpu/cpu{cpu}/topology/core_id", f"{cpu}\n")
            self.put(f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", f"{cpu // 128}\n")
        self.write()
        self.start()

    def put(self, name, text):
        path = f"{self.place}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # In place: the monitor keeps files open, as those of the kernel.
        open(path, "w").write(text)

    def write(self):
        tick = self.step * 100
        rows = [f"cpu{cpu} {0 if cpu == 1 else tick // 2} 0 0 {tick // 2} 0 0 {tick // 2 if cpu == 1 else 0} 0 0 0" for cpu in range(256)]
        self.put("proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\n" + "\n".join(rows) + f"\nctxt {tick}\nbtime 1700000000\nprocesses 1\n")

    def run(self):
        while not self.over.wait(1):
            self.step += 1
            self.write()


def part_scrape(place):
    """Two engines scrape a live machine, a captured one and a wide one; every panel has data."""
    open(f"{place}/tps", "w").write("1234\n")
    live, one = serve("--metric", f"tps=file:{place}/tps")
    files = Wide(f"{place}/wide")
    wide, two = serve("--root", f"{place}/wide")
    captured = []
    for name in ("five-nodes", "igb-eight-queues"):
        os.makedirs(f"{place}/{name}")
        subprocess.run(["tar", "--zstd", "-xf", f"{TOP}/tests/data/machines/{name}.tar.zst", "-C", f"{place}/{name}"], check=True)
        # Not below: links of sysfs go in circles.
        found = glob.glob(f"{place}/{name}/proc") + glob.glob(f"{place}/{name}/*/proc")
        captured.append(serve("--root", os.path.dirname(found[0])))
    # Load below the limit, so that there is a next one.
    load = start("sh", "-c", "while :; do timeout 0.3 sh -c 'while :; do :; done'; sleep 0.7; done")
    ports = [one, two] + [at for _, at in captured]
    for at in ports:
        page = get(f"http://127.0.0.1:{at}/metrics")
        tool = subprocess.run(["promtool", "check", "metrics"], input=page, text=True, capture_output=True)
        check(tool.returncode == 0 and not tool.stderr, f"promtool check metrics: {tool.stderr[:200]}")
    for words in (["promtool", "check", "rules", *RULES], ["promtool", "test", "rules", f"{TOP}/tests/data/serve/rules-test.yml"],
                  ["vmalert", "-dryRun", *[f"-rule={rule}" for rule in RULES]]):
        tool = subprocess.run(words, capture_output=True, text=True)
        check(tool.returncode == 0, f"{' '.join(words[:3])} {tool.stdout[-200:] if tool.returncode else ''}")
    engines = [("Prometheus", *prometheus(place, ports)), ("VictoriaMetrics", *victoria(place, ports))]
    time.sleep(args.minutes * 60)
    instances = [f"127.0.0.1:{at}" for at in ports]
    for name, _, base in engines:
        down = query(base, "min_over_time(up[10m]) == 0")
        scrapes = query(base, "sum(count_over_time(up[1h]))")
        check(not down, f"{name}: {scrapes[0]['value'][1]} scrapes in {args.minutes:g} min, none failed {down or ''}")
        asked = [(uid, title, ask(base, target, instances)) for uid, title, target in panels()]
        empty = [f"{uid}: {title}" for uid, title, result in asked if not result]
        check(not empty, f"{name}: {len(asked)} queries of dashboards, each with data {empty or ''}")
    for at in ports[:2]:
        print(f"  {get(f'http://127.0.0.1:{at}/metrics').count(chr(10) + 'topotop_')} series on port {at}")
    files.over.set()
    files.join()
    stop(load, live, wide, *[child for child, _ in captured], *[child for _, child, _ in engines])


def part_cost(place):
    """CPU time a minute beside node_exporter's, same minutes, a scrape each 15 s."""
    ours, at = serve()
    theirs_at = port()
    known = subprocess.run(["prometheus-node-exporter", "--help"], capture_output=True, text=True)
    known = set(re.findall(r"collector\.(\w+)", known.stdout + known.stderr))
    # Debian 12 has one without softirqs.
    wanted = [name for name in ("interrupts", "softirqs", "meminfo_numa", "processes", "ethtool") if name in known]
    print(f"  node_exporter with {', '.join(wanted)} beside its defaults")
    theirs = start("prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{theirs_at}", *[f"--collector.{name}" for name in wanted],
                   env={**os.environ, "GOMAXPROCS": "2"})
    wait(f"http://127.0.0.1:{theirs_at}/metrics")
    idle = start(args.topotop, "serve", "--listen", f"127.0.0.1:{port()}")
    time.sleep(5)
    before = [cpu_seconds(child.pid) for child in (ours, theirs, idle)]
    begin, took = time.time(), ([], [])
    for turn in range(int(args.minutes * 4)):
        time.sleep(max(0, begin + 15 * (turn + 1) - time.time()))
        for url, times in zip((at, theirs_at), took):
            started_at = time.perf_counter()
            get(f"http://127.0.0.1:{url}/metrics")
            times.append((time.perf_counter() - started_at) * 1e3)
    minutes = (time.time() - begin) / 60
    costs = [(cpu_seconds(child.pid) - was) / minutes for child, was in zip((ours, theirs, idle), before)]
    names = ("topotop serve, sampling each second, scraped each 15 s", "node_exporter, scraped each 15 s", "topotop serve, not scraped")
    for name, cost, child in zip(names, costs, (ours, theirs, idle)):
        print(f"  {name}: {cost:.3f} CPU s a minute, {resident_mib(child.pid):.1f} MiB")
    print(f"  a scrape: {statistics.median(took[0]):.2f} ms here, {statistics.median(took[1]):.2f} ms node_exporter (medians)")
    # What a scrape alone costs: many, each of a sample of its own where pages are kept for a sample.
    figures = []
    for child, url, pause in ((ours, at, 1.0), (theirs, theirs_at, 0.05)):
        rounds = 30
        was = cpu_seconds(child.pid)
        quiet = cpu_seconds(idle.pid)
        for _ in range(rounds):
            get(f"http://127.0.0.1:{url}/metrics")
            time.sleep(pause)
        sampling = cpu_seconds(idle.pid) - quiet if child is ours else 0
        figures.append(max(0, cpu_seconds(child.pid) - was - sampling) / rounds * 1e3)
    print(f"  CPU of a scrape: {figures[0]:.2f} ms here without the sampling, {figures[1]:.2f} ms node_exporter")
    check(figures[0] <= figures[1] / 2, "encoding costs at most half of node_exporter's scrape")
    for name, url in (("topotop", at), ("node_exporter", theirs_at)):
        page = get(f"http://127.0.0.1:{url}/metrics")
        print(f"  {sum(1 for line in page.splitlines() if line and line[0] != '#')} series, {len(page) >> 10} KiB: {name}")
    stop(ours, theirs, idle)


def part_attack(place):
    """200 scrapes a second, slow readers, huge heads, 1,000 connections; sampling goes on."""
    child, at = serve()
    url = f"http://127.0.0.1:{at}/metrics"
    time.sleep(20)

    def watch(seconds, name):
        intervals = []
        stamps, taken, waits, end = set(), [], [0], time.time() + seconds
        while time.time() < end:
            begin = time.time()
            try:
                page = get(url)
                waits.append(time.time() - begin)
                stamps.add(float(re.search(r"(?m)^topotop_sample_timestamp_seconds (\S+)", page)[1]))
                intervals.append(float(re.search(r"(?m)^topotop_sample_interval_seconds (\S+)", page)[1]))
                taken.append(float(re.search(r"(?m)^topotop_sample_duration_seconds (\S+)", page)[1]) * 1e3)
            except OSError:
                taken.append(float("nan"))
            time.sleep(0.2)
        lost = sum(value != value for value in taken)
        taken = [value for value in taken if value == value]
        print(f"  {name}: {len(stamps)} samples in {seconds} s, longest interval {max(intervals):.2f} s, a sample {statistics.median(taken):.1f} ms, "
              f"{resident_mib(child.pid):.1f} MiB, {sockets(child.pid)} sockets, {lost} scrapes lost, the longest {max(waits):.2f} s")
        return max(intervals)

    quiet = watch(20, "quiet")
    before = (resident_mib(child.pid), sockets(child.pid))
    ending, counts = threading.Event(), [0] * 4

    def scraper(number):
        while not ending.is_set():
            begin = time.time()
            try:
                get(url)
                counts[number] += 1
            except OSError:
                pass
            time.sleep(max(0, 0.02 - (time.time() - begin)))

    threads = [threading.Thread(target=scraper, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    gap = watch(20, "200 scrapes a second")
    ending.set()
    [thread.join() for thread in threads]
    print(f"  {sum(counts) / 20:.0f} scrapes a second were answered")
    check(gap < quiet + 1.5, "sampling is on time")
    held = []

    def connections(what, count=1000):
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", at))
            try:
                one.sendall(what)
            except OSError:
                pass
            held.append(one)

    for name, what in (("1,000 connections that say nothing", b""), ("1,000 that never end their request", b"GET /metrics HTTP/1.1\r\nX:"),
                       ("1,000 slow readers", b"GET /metrics HTTP/1.1\r\n\r\n" * 100), ("1,000 huge heads", b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000)):
        thread = threading.Thread(target=connections, args=(what,))
        thread.start()
        gap = watch(8, name)
        thread.join()
        check(gap < quiet + 1.5, "sampling is on time")
        [one.close() for one in held]
        held.clear()
    time.sleep(3)
    after = (resident_mib(child.pid), sockets(child.pid))
    check(after[1] <= before[1], f"sockets: {before[1]} before, {after[1]} after")
    check(after[0] < before[0] + 4, f"memory: {before[0]:.1f} MiB before, {after[0]:.1f} MiB after")
    stop(child)


def part_fleet(place):
    """So many hosts from a recording in one Prometheus: the fleet dashboard's queries, timed."""
    recording = f"{place}/host.rec"
    load = start("sh", "-c", "while :; do timeout 0.3 sh -c 'while :; do :; done'; sleep 0.7; done")
    subprocess.run([args.topotop, "record", "-o", recording, "--for", "40s"], check=True, stderr=subprocess.DEVNULL)
    stop(load)
    hosts = []
    for _ in range(args.hosts):
        at = port()
        hosts.append((start(args.topotop, "serve", "--from", recording, "--listen", f"127.0.0.1:{at}"), at))
        time.sleep(0.1)
    for _, at in hosts:
        wait(f"http://127.0.0.1:{at}/metrics")
    engine, base = prometheus(place, [at for _, at in hosts], every="15s")
    time.sleep(max(120, args.minutes * 60))
    up = query(base, "sum(up)")
    check(up and float(up[0]["value"][1]) == args.hosts, f"{up[0]['value'][1] if up else 0} of {args.hosts} hosts are up")
    series = query(base, 'count({job="topotop"})')[0]["value"][1]
    print(f"  {series} series, {resident_mib(engine.pid):.0f} MiB Prometheus, "
          f"{statistics.median(resident_mib(child.pid) for child, _ in hosts):.1f} MiB a host")
    times = []
    for _, title, target in panels("fleet"):
        begin, rounds = time.perf_counter(), 5
        for _ in range(rounds):
            result = ask(base, target, [])
        times.append((time.perf_counter() - begin) / rounds * 1e3)
        print(f"  {times[-1]:7.1f} ms  {len(result):5} results  {title}")
    print(f"  the whole dashboard: {sum(times):.0f} ms")
    stop(engine, *[child for child, _ in hosts])


parser = argparse.ArgumentParser()
parser.add_argument("--topotop", default=f"{TOP}/target/release/topotop")
parser.add_argument("--minutes", type=float, default=10)
parser.add_argument("--hosts", type=int, default=100)
parser.add_argument("--only", default="boards,docs,scrape,cost,attack,fleet")
args = parser.parse_args()
for tool in ("prometheus", "promtool", "victoria-metrics", "vmalert", "prometheus-node-exporter"):
    if not shutil.which(tool):
        sys.exit(f"fleet.py: {tool} is missing: apt-get install prometheus prometheus-node-exporter victoria-metrics")
# What was started ends with this program, however that ends.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
sys.stdout.reconfigure(line_buffering=True)
try:
    for name in args.only.split(","):
        part = globals()[f"part_{name}"]
        print(f"{name}: {part.__doc__}", flush=True)
        with tempfile.TemporaryDirectory() as place:
            part(place)
finally:
    stop(*[child for child in started if child.poll() is None])
sys.exit(1 if failures else 0)
