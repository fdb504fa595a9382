# What scenarios share; each is a file with the functions `inject`, `steps` and `clean`.
cd /tmp
port=$(echo /dev/vport*p1)
cgroups=/sys/fs/cgroup
# In memory from the start, so that no group with a limit is charged for the pages of programs.
cat /test/tool /test/topotop > /dev/null

# Starts a command in the background, until the scenario is cleaned up.
bg() {
    "$@" > /dev/null &
    echo $! >> pids
}

# A control group with settings, `group load memory.max=64M`; a command in one, `in_group load COMMAND`.
group() {
    local dir=$cgroups/$1 setting
    mkdir -p $dir
    shift
    for setting; do echo ${setting#*=} > $dir/${setting%%=*}; done
}
in_group() {
    local dir=$cgroups/$1
    shift
    bg bash -c 'echo 0 > "$0"; exec "$@"' $dir/cgroup.procs "$@"
}
# Removes groups whose processes have ended.
no_group() {
    local name try pid
    for name; do
        # A child outlives the program that was stopped.
        for try in {1..40}; do
            for pid in $(cat $cgroups/$name/cgroup.procs); do kill -9 $pid; done
            rmdir $cgroups/$name && break
            sleep 0.1
        done 2>/dev/null
    done
}

# A service of systemd, `unit NAME PROPERTY=VALUE … -- COMMAND`; and its settings, its drop-ins and the settings of its
# group. The daemon is reloaded first: what is set has to last.
unit() {
    local options=(--quiet --collect --unit=$1)
    shift
    while [ $1 != -- ]; do options+=(--property="$1"); shift; done
    shift
    systemd-run "${options[@]}" -- "$@"
}
unit_state() {
    systemctl daemon-reload
    systemctl show $1 --property=ActiveState,MemoryMax,MemoryHigh,CPUQuotaPerSecUSec,IOWriteIOPSMax,IOWeight,AllowedCPUs,DropInPaths
    group_state $(systemctl show $1 --property=ControlGroup --value)
}

# Ends everything that the scenario has started.
stop() {
    local pid
    [ -e pids ] || return 0
    { for pid in $(cat pids); do kill -9 $pid; done; wait; } 2> /dev/null
    rm pids
}

# A disk that serves twenty requests a second, and one without a limit.
slow_disk() { mount -o noatime /dev/vdd /slow; }
no_slow_disk() { umount /slow; }
# The same disk with two file systems, /slow/1 and /slow/2.
slow_disk_halves() {
    local half sectors=$(($(cat /sys/block/vdd/size) / 2))
    mount -t tmpfs slow /slow
    for half in 1 2; do
        addpart /dev/vdd $half $(((half - 1) * sectors)) $sectors
        mke2fs -q -F -t ext4 -O ^has_journal -E lazy_itable_init=1 /dev/vdd$half
        mkdir /slow/$half
        mount -o noatime /dev/vdd$half /slow/$half
    done
}
no_slow_disk_halves() {
    local try
    # A killed writer is gone once the write that it waits for is done.
    for try in {1..40}; do umount /slow/1 /slow/2 2> /dev/null && break; sleep 0.5; done
    umount /slow
    delpart /dev/vdd 1; delpart /dev/vdd 2
    mke2fs -q -F -t ext4 -O ^has_journal -E lazy_itable_init=1 /dev/vdd
}
data() { mount -o noatime /dev/vdc /data; }
no_data() { find /data -type f -delete; umount /data; }
# Waits for so many pages that wait for their disk.
dirty_memory() {
    local try
    for try in {1..600}; do
        [ $(awk '/^nr_(dirty|writeback) / { sum += $2 } END { print sum }' /proc/vmstat) -lt $1 ] || break
        sleep 0.2
    done
}
# A file of so many MiB that is not in memory.
cold() {
    dd if=/dev/zero of=$1 bs=1M count=$2 status=none
    sync
    echo 3 > /proc/sys/vm/drop_caches
}

# An Erlang node of two busy schedulers with a bind type; `erlang_up` waits until so many are busy.
erlang() {
    bg erl +S 2:2 +SDio 1 +SDcpu 1:1 +sbwt none +sbwtdcpu none +sbwtdio none +sbt $1 -noshell -eval '
        Busy = fun Again() -> lists:sum(lists:seq(1, 200)), Again() end, [spawn(Busy) || _ <- [1, 2, 3, 4]],
        file:write_file("beam." ++ os:getpid(), ""), timer:sleep(infinity).'
}
erlang_up() {
    local try
    for try in {1..400}; do [ $(ls beam.* 2> /dev/null | wc -l) -lt $1 ] || break; sleep 0.2; done
    rm -f beam.*
    sleep 1
}

# What fixes of a process restore, a line each: CPUs of its threads, its memory nodes, the lists of its group.
placed() {
    local file
    for file in /proc/$1/task/*/status; do echo "${file%/status} $(grep Cpus_allowed_list $file | cut -f 2)"; done
    grep Mems_allowed_list /proc/$1/status
    # The kernel does not restore an empty list while processes are in the group; the effective one it does.
    echo "cpuset.cpus $(cat $cgroups/$2/cpuset.cpus.effective)"
    echo "cpuset.mems $(cat $cgroups/$2/cpuset.mems.effective)"
}
# The largest mapping of a process with its policy and its pages by node.
pages() { awk 'match($0, /anon=[0-9]+/) { n = substr($0, RSTART + 5, RLENGTH - 5) + 0; if (n > most) { most = n; line = $0 } } END { print line }' /proc/$1/numa_maps; }
# The CPUs of each thread of every Erlang node.
masks() {
    local pid file
    for pid in $(cat pids); do
        for file in /proc/$pid/task/*/status; do echo "${file%/status} $(grep Cpus_allowed_list $file | cut -f 2)"; done
    done
}

# Asks the other side for packets: flows, packets a second, seconds.
flood() { echo "$1 $2 $3" > /dev/udp/10.77.0.1/7777; }
# Ends the packets: the request may be lost while the card is full.
no_flood() {
    local try before received=/sys/class/net/eth0/statistics/rx_packets
    for try in {1..20}; do
        flood 1 1 0
        sleep 0.5
        before=$(cat $received)
        sleep 0.5
        [ $(($(cat $received) - before)) -gt 100 ] || break
    done
}

# The softirq share of the busiest CPU over some seconds, in percent.
softirq() {
    { grep '^cpu[0-9]' /proc/stat; sleep ${1:-8}; grep '^cpu[0-9]' /proc/stat; } | awk '{
        all = 0; for (at = 2; at <= 9; at++) all += $at
        part = $1 in sum && all > sum[$1] ? 100 * ($8 - soft[$1]) / (all - sum[$1]) : 0
        if (part > most) most = part
        sum[$1] = all; soft[$1] = $8
    } END { printf "%d", most }'
}
# Asks for as many packets as keep a CPU between 60 and 80 % busy, for so many seconds. Their number depends on how fast
# the machine is emulated.
busy_flood() {
    local rate=1000 share try next few=0 many=0
    for try in {1..10}; do
        flood 32 $rate 30
        sleep 2
        share=$(softirq 3)
        if [ $share -lt 60 ]; then
            few=$rate
            next=$((rate * 71 / (share < 25 ? 25 : share)))
        elif [ $share -gt 80 ]; then
            many=$rate
            next=$((rate * 6 / 10))
        else
            break
        fi
        # Between too few and too many.
        if [ $many -gt 0 ] && { [ $next -ge $many ] || [ $next -le $few ]; }; then next=$(((few + many) / 2)); fi
        # More packets would keep the emulator busy, not the CPU.
        rate=$((next < 20000 ? next : 20000))
    done
    echo "guest: $rate packets a second: $share % softirq, attempt $try"
    packets=$rate
    flood 32 $rate $1
}

# Figures: each takes some seconds and prints one number.
difference() { local before=$($1); sleep ${2:-8}; echo $(($($1) - before)); }
throttled_periods() { awk '/^nr_throttled/ { print $2 }' $cgroups/job/cpu.stat; }
refaults() { awk '/^workingset_refault_file/ { print $2 }' /proc/vmstat; }
# Microseconds that some task of the group waited for memory.
memory_waits() { sed -n 's/^some .*total=//p' $cgroups/web/memory.pressure; }
writes_of_queue() { sed -n 's/.* wios=\([0-9]*\).*/\1/p' $cgroups/queue/io.stat | awk '{ sum += $1 } END { print sum + 0 }'; }
# CPU time of all Erlang nodes in ticks.
erlang_ticks() { cat $(sed 's|.*|/proc/&/stat|' pids) | sed 's/.*) //' | awk '{ sum += $12 + $13 } END { print sum }'; }

# Firewall rules that no packet matches: the CPU that receives a packet evaluates all of them. That loads the CPUs of the
# guest instead of the emulator and its card.
firewall() {
    modprobe -a sch_ingress cls_u32
    tc qdisc add dev eth0 clsact
    local port
    for port in $(seq $1); do
        echo "filter add dev eth0 ingress protocol ip prio 1 u32 match ip dport $port 0xffff"
    done | tc -batch -
}
no_firewall() { tc qdisc del dev eth0 clsact; }

# Waits for the link that a change of channels has interrupted: requests without a link are lost.
link_up() {
    local try
    for try in {1..100}; do [ "$(cat /sys/class/net/eth0/carrier)" = 1 ] && break; sleep 0.1; done
    sleep 0.5
}

# The interrupts of the queues of eth0 that receive.
queue_irqs() {
    local device=$(basename $(readlink -f /sys/class/net/eth0/device))
    awk -v device=$device '$NF ~ "^" device "-input" || $NF ~ /^eth0-(rx|TxRx)/ { sub(":", "", $1); print $1 }' /proc/interrupts
}

# How many combined channels eth0 has now.
channels() { ethtool -l eth0 | awk '/^Combined/ { now = $2 } END { print now }'; }
# Everything that fixes of an interface restore, a line each; interrupts by name, since their numbers change.
network_state() {
    local file irq
    echo "channels $(channels)"
    for file in /sys/class/net/eth0/queues/*/{rps_cpus,rps_flow_cnt,xps_cpus}; do echo "$file $(cat $file 2>&1)"; done
    for irq in /proc/irq/[0-9]*; do
        echo "$(cat /sys/kernel/irq/${irq##*/}/actions) $(cat $irq/smp_affinity_list)"
    done | grep -v '^ ' | sort
    ethtool -l eth0
    ethtool -x eth0 2>&1
    ethtool -g eth0 2>&1
    for file in /proc/sys/net/core/{netdev_*,rps_*}; do echo "$file $(cat $file)"; done
}

# `topotop fix …` by somebody with these rights: `fix NAME …` as root. Its outputs and its exit status go to the other side
# as NAME, NAME.errors and NAME.status.
fix() { run_fix as_root "$@"; }
run_fix() {
    local rights=$1 name=$2 status=0
    shift 2
    echo "guest: $((SECONDS - began)) s: fix $*"
    $rights fix "$@" > output 2> errors_of_fix || status=$?
    echo $status > status
    tell $name output
    tell $name.errors errors_of_fix
    tell $name.status status
}
topotop=(/test/topotop --config /test/config.toml --interval 700ms)
as_root() { "${topotop[@]}" --state-dir /tmp/journal "$@"; }
without_net_admin() { setpriv --bounding-set=-net_admin --inh-caps=-net_admin "${topotop[@]}" --state-dir /tmp/journal "$@"; }
as_nobody() {
    mkdir -p /tmp/nobody && chown 65534 /tmp/nobody
    setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \
        "${topotop[@]}" --state-dir /tmp/nobody "$@"
}
# Sends the output of a command as a part: `state_part NAME COMMAND`.
state_part() {
    eval "$2" > state 2> state.errors
    cat state.errors >> state
    tell $1 state
}
# `apply_fix NAME STATE OBSERVE UNDO ID OPTION…`: applies a fix and undoes it where it can be undone. The output of both
# commands is sent as it was before, during and after.
apply_fix() {
    local name=$1 state=$2 observe=$3 undo=$4 id=$5 times
    shift 5
    state_part $name.before "$state"; state_part $name.observed_before "$observe"
    for times in 1 4; do
        fix $name.applied apply $id --for $((times * patience))s --yes --no-wait --format json "$@"
        # One line of errors and no plan: the finding has not appeared yet.
        [ $(cat status) != 0 ] && [ $(wc -l < errors_of_fix) -lt 2 ] || break
    done
    state_part $name.during "$state"; state_part $name.observed_during "$observe"
    [ $undo = true ] || return 0
    fix $name.undone undo $id --format json
    state_part $name.after "$state"; state_part $name.observed_after "$observe"
}
# `refuse_fix NAME STATE RIGHTS ID OPTION…`: tries to apply a fix that must be refused.
refuse_fix() {
    local name=$1 state=$2 rights=$3 id=$4
    shift 4
    state_part $name.before "$state"
    run_fix $rights $name.refused apply $id --for $((2 * patience))s --yes --no-wait "$@"
    state_part $name.after "$state"
}
# `use_keys NAME STATE RULE FIX PARAMETERS LOGIN`: the same in the terminal interface, with a journal of its own.
use_keys() {
    local name=$1 state=$2 status=0
    shift 2
    echo "guest: $((SECONDS - began)) s: keys $*"
    rm -rf /tmp/by-keys
    state_part $name.before "$state"
    /test/tool keys "$@" > output 2> errors_of_fix || status=$?
    echo $status > status
    tell $name.keys output
    tell $name.keys.errors errors_of_fix
    tell $name.keys.status status
    state_part $name.journal '/test/topotop --state-dir /tmp/by-keys fix journal --format json'
    state_part $name.after "$state"
}
# `measure_fix ROUNDS LOAD FIGURE ID OPTION…`: a figure without a fix and with it, several times.
measure_fix() {
    local rounds=$1 load=$2 figure=$3 id=$4 round without with applied undone
    shift 4
    rm -f figures statuses
    for round in $(seq $rounds); do
        eval "$load"; sleep 2
        without=$(eval "$figure")
        as_root fix apply $id --for 15s --yes --no-wait "$@" > output 2>&1; applied=$?
        eval "$load"; sleep 4
        with=$(eval "$figure")
        as_root fix undo $id >> output 2>&1; undone=$?
        echo "$without $with" >> figures
        echo "$applied $undone" >> statuses
        echo "guest: round $round: $without -> $with"
        [ "$applied $undone" = "0 0" ] || break
    done
    : > none
    tell figures figures; tell statuses statuses; tell last output; tell last.errors none
}
# `judge_fix ROUNDS LOAD ID OPTION…`: the verdict on a fix, several times.
judge_fix() {
    local rounds=$1 load=$2 id=$3 round
    shift 3
    for round in $(seq $rounds); do
        eval "$load"
        # What the undo of the last round has brought back needs some time, too.
        [ $round = 1 ] || sleep 10
        fix verdict.$round apply $id --for 30s --yes --undo-if-worse=false --format json "$@"
        fix undone.$round undo $id
        [ $(cat status) = 0 ] || break
    done
}
# Everything that fixes of a group restore, a line each.
group_state() {
    local file
    for file in $cgroups/$1/{memory.max,memory.high,memory.low,memory.swap.max,cpu.max,io.max,io.weight,io.bfq.weight,memory.limit_in_bytes,memory.memsw.limit_in_bytes,memory.soft_limit_in_bytes}; do
        [ ! -e $file ] || echo "${file##*/} $(cat $file)"
    done
}

# Who serves the requests of the slow disk: none, mq-deadline, bfq. This one waits for the next request of whoever was
# served last, with the disk idle meanwhile, unless disabled.
slow_disk_by() {
    [ $1 != bfq ] || modprobe bfq
    echo $1 > /sys/block/vdd/queue/scheduler
    [ $1 != bfq ] || echo 0 > /sys/block/vdd/queue/iosched/slice_idle
}
# The KiB of its largest requests.
slow_disk_requests() { echo $1 > /sys/block/vdd/queue/max_sectors_kb; }
# Whether the I/O cost controller is on for it.
slow_disk_cost() { echo "$(cat /sys/block/vdd/dev) enable=$1" > $cgroups/io.cost.qos; }
# The I/O class and level of each thread of a group.
priorities() {
    local tid
    for tid in $(cat $cgroups/$1/cgroup.threads); do echo "$tid $(ionice -p $tid)"; done
}
# Settings of the kernel, a line each.
settings() {
    local name
    for name; do echo "$name $(cat /proc/sys/${name/.//})"; done
}

# Sends a file to the other side: `tell NAME FILE` as a part of this scenario.
tell() {
    echo "@ $scenario $1 $(stat -c %s $2)" > $port
    cat $2 > $port
}
# Seconds in which a finding appears: as long as the samples of the problem take, which depends on how fast the machine is
# emulated.
patience=15
# So many samples with rates, however long they take: `watch NAME INTERVAL COUNT`.
watch() {
    [ $3 -gt 0 ] || return 0
    local start=$SECONDS
    /test/topotop check --config /test/config.toml --interval ${2}ms --for 600s --format jsonl | head -n $(($3 + 1)) > seen
    patience=$(((SECONDS - start) * 12 / $3 + 4))
    tell $1 seen
}
# `run_scenario NAME INTERVAL SAMPLES SAMPLES-AFTERWARDS`
run_scenario() {
    scenario=$1
    patience=15
    began=$SECONDS
    echo "guest: begin $1"
    {
        . /test/$1
        inject
        watch problem $2 $3
        steps
        clean
        stop
        watch afterwards $2 $4
    } 2> errors
    tell errors errors
    rm -rf /tmp/journal /tmp/by-keys seen
    echo "guest: done $1"
}
