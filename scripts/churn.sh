#!/bin/sh
# Records while processes, control groups and interfaces come and go, and prints what that costs the recorder each minute:
# `churn.sh [minutes=60] [forks=200] [groups=500] [interval=1s]`. As root; interfaces in a network namespace of their own.
set -u
minutes=60 forks=200 groups=500 interval=1s
for pair; do
    case $pair in
        minutes=* | forks=* | groups=* | interval=*) eval "${pair%%=*}=\${pair#*=}" ;;
        *) echo "churn.sh: unknown argument $pair: use minutes=, forks=, groups= or interval=" >&2; exit 2 ;;
    esac
done
[ "$(id -u)" = 0 ] || { echo "churn.sh: only root can create control groups and interfaces" >&2; exit 2; }
topotop=${TOPOTOP_BIN:-target/release/topotop}
above=/sys/fs/cgroup/memory
[ -d "$above" ] || above=/sys/fs/cgroup
group=$above/topotop-churn-$$
dir=$(mktemp -d)
mkdir "$group" || exit 2
pids=
ended() {
    for pid in $pids; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
    rm -rf "$dir"
}
trap ended EXIT
trap 'exit 130' INT TERM

"$topotop" record --interval "$interval" --for "${minutes}m" -o "$dir/churn.rec" 2>"$dir/said" &
recorder=$!
python3 - "$group" "$forks" "$groups" "$dir/lived" "$dir/made" <<'PY' &
import os, sys, time
group, forks, groups, lived = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
tick, n, late = 0.05, 0, time.monotonic()
begun = late
out = open(lived, "w", buffering=1)
while True:
    for at in range(max(1, round(groups * tick))):
        path = f"{group}/g{n}-{at}"
        os.mkdir(path)
        os.rmdir(path)
    for at in range(max(1, round(forks * tick))):
        # One in a hundred lives for three seconds: through two samples, it must be in the recording.
        stays = (n * 10 + at) % 100 == 0
        pid = os.fork()
        if pid == 0:
            if stays:
                time.sleep(3)
            os._exit(0)
        if stays:
            print(pid, time.time(), file=out)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    n, late = n + 1, late + tick
    if n % 1200 == 0:
        made = open(sys.argv[5], "w")
        print(f"{n * max(1, round(forks * tick)) / (time.monotonic() - begun):.0f} forks/s, "
              f"{n * max(1, round(groups * tick)) / (time.monotonic() - begun):.0f} groups/s", file=made)
        made.close()
    time.sleep(max(0, late - time.monotonic()))
PY
pids=$!
unshare -n sh -c 'while :; do ip link add v0 type veth peer name v1; ip link set v0 up; sleep 0.2; ip link del v0; sleep 0.2; done' &
pids="$pids $!"

echo "minute  resident KiB  descriptors  threads  CPU s"
at=0
while kill -0 $recorder 2>/dev/null && [ $at -le "$minutes" ]; do
    resident=$(awk '/^VmRSS/ { print $2 }' /proc/$recorder/status 2>/dev/null)
    threads=$(awk '/^Threads/ { print $2 }' /proc/$recorder/status 2>/dev/null)
    seconds=$(awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' /proc/$recorder/stat 2>/dev/null)
    descriptors=$(ls /proc/$recorder/fd 2>/dev/null | wc -l)
    printf '%6d  %12s  %11d  %7s  %5s\n' $at "$resident" "$descriptors" "$threads" "$seconds"
    # After ten minutes it has seen whatever comes again.
    if [ $at -eq 10 ]; then resident_10=$resident; fi
    # Descriptors are of what runs at the moment: the most of ten minutes.
    if [ $at -gt 0 ] && [ $at -le 10 ] && [ "$descriptors" -gt "${descriptors_10:-0}" ]; then descriptors_10=$descriptors; fi
    if [ -n "$resident" ]; then
        resident_last=$resident
        last_ten=$(echo "${last_ten:-} $descriptors" | tr ' ' '\n' | grep . | tail -n 10 | tr '\n' ' ')
    fi
    at=$((at + 1))
    sleep 60 & wait $!
done
wait $recorder
echo "recorder: exit status $?; $(cat "$dir/said"); made: $(cat "$dir/made" 2>/dev/null)"
grew=0
if [ -n "${resident_10:-}" ]; then
    descriptors_last=$(echo "$last_ten" | tr ' ' '\n' | sort -n | tail -n 1)
    echo "from minute 10: resident $resident_10 to $resident_last KiB; most descriptors of ten minutes: $descriptors_10 to $descriptors_last"
    # A few pages more are no growth: a twentieth.
    [ "$resident_last" -le $((resident_10 + resident_10 / 20)) ] && [ "$descriptors_last" -le $((descriptors_10 + descriptors_10 / 20)) ] || grew=1
fi
"$topotop" export "$dir/churn.rec" -s processes -o "$dir/processes.csv" || exit 1
python3 - "$dir/processes.csv" "$dir/lived" <<'PY'
import csv, datetime, sys
with open(sys.argv[1], newline="") as table:
    rows = [(row["pid"], row["taken_at"]) for row in csv.DictReader(table)]
seen = {pid for pid, _ in rows}
samples = [datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp() for at in {at for _, at in rows}]
began = [(pid, float(at)) for pid, at in map(str.split, open(sys.argv[2]))]
lived = [pid for pid, at in began if sum(at < sample < at + 3 for sample in samples) >= 2]
lost = [pid for pid in lived if pid not in seen]
print(f"samples: {len(samples)}; processes that lived through two: {len(lived)}; lost: {len(lost)}")
sys.exit(bool(lost) or not lived)
PY
lost=$?
[ $grew -eq 0 ] || echo "churn.sh: the recorder grew" >&2
exit $((lost | grew))
