# What scenarios are written with. Sourced before each of their steps; works with control groups of either version.
# shellcheck shell=bash disable=SC2034
# DIR: the scenario's own folder, removed at its end. CACHE: one for all scenarios of a run. TREE: name of its groups.
set -eu
cd "$DIR"
mkdir -p log pid
PATH=$PATH:/usr/sbin:/sbin:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')
CPUS=$(nproc --all)
ALL=$(cat /sys/devices/system/cpu/online)
FIRST=${ALL%%[-,]*}
GROUPS_AT=/sys/fs/cgroup
if [ -e $GROUPS_AT/cgroup.controllers ]; then VERSION=2; else VERSION=1; fi

# The folder of a group: CONTROLLER GROUP
at() { if [ $VERSION = 2 ]; then echo "$GROUPS_AT/$TREE/$2"; else echo "$GROUPS_AT/$1/$TREE/$2"; fi; }

# Makes a group in every hierarchy; a group in a group needs its parent first.
group() {
    if [ $VERSION = 2 ]; then
        parent=$(dirname "$GROUPS_AT/$TREE/$1")
        mkdir -p "$parent"
        above=$GROUPS_AT
        for part in $(echo "${parent#"$GROUPS_AT"/}" | tr / ' ') .; do
            for one in cpu cpuset memory io pids; do echo +$one >"$above/cgroup.subtree_control" 2>/dev/null || true; done
            above=$above/$part
        done
        mkdir -p "$GROUPS_AT/$TREE/$1"
        return
    fi
    for one in cpu cpuacct cpuset memory blkio pids; do mkdir -p "$(at $one "$1")"; done
    path=$GROUPS_AT/cpuset
    for part in $(echo "$TREE/$1" | tr / ' '); do
        cat "$path/cpuset.mems" >"$path/$part/cpuset.mems"
        [ -n "$(cat "$path/$part/cpuset.cpus")" ] || cat "$path/cpuset.cpus" >"$path/$part/cpuset.cpus"
        path=$path/$part
    done
}

# Puts the calling shell into a group; "-" is none.
join() {
    [ "$1" != - ] || return 0
    if [ $VERSION = 2 ]; then
        echo $BASHPID >"$GROUPS_AT/$TREE/$1/cgroup.procs"
    else
        for one in cpu cpuacct cpuset memory blkio pids; do echo $BASHPID >"$(at $one "$1")/cgroup.procs"; done
    fi
}

# Cores that a group may use: GROUP CORES|max
cpu_quota() {
    if [ $VERSION = 2 ]; then
        if [ "$2" = max ]; then echo "max 100000"; else echo "$(awk "BEGIN{print int($2*100000)}") 100000"; fi >"$(at cpu "$1")/cpu.max"
    else
        if [ "$2" = max ]; then echo -1; else awk "BEGIN{print int($2*100000)}"; fi >"$(at cpu "$1")/cpu.cfs_quota_us"
    fi
}

# CPUs that a group may use: GROUP LIST
cpu_set() { echo "$2" >"$(at cpuset "$1")/cpuset.cpus"; }

# GROUP BYTES|max
memory_limit() {
    if [ $VERSION = 2 ]; then echo "$2" >"$(at memory "$1")/memory.max"
    elif [ "$2" = max ]; then echo -1 >"$(at memory "$1")/memory.limit_in_bytes"
    else echo "$2" >"$(at memory "$1")/memory.limit_in_bytes"; fi
}

# GROUP COUNT|max
pids_limit() { echo "$2" >"$(at pids "$1")/pids.max"; }

# The disk below the scenario's folder, as MAJOR:MINOR of the whole disk.
disk() {
    device=$(stat -c %d "$DIR")
    number=$((device >> 8 & 0xfff)):$((device & 0xff))
    if [ -e "/sys/dev/block/$number/partition" ]; then cat "/sys/dev/block/$number/../dev"; else echo $number; fi
}

# Limits a group's requests: GROUP read|write bps|iops VALUE|max
io_limit() {
    if [ $VERSION = 2 ]; then
        echo "$(disk) ${2%"${2#?}"}$3=$4" >"$(at io "$1")/io.max"
    else
        value=$4
        [ "$value" != max ] || value=0
        echo "$(disk) $value" >"$(at blkio "$1")/blkio.throttle.${2}_${3}_device"
    fi
}

# A program in the background, its output in log/NAME: NAME GROUP COMMAND…
start() {
    name=$1 member=$2
    shift 2
    (
        join "$member"
        exec setsid "$@"
    ) >"log/$name" 2>&1 </dev/null &
    echo $! >"pid/$name"
}

# A signal to a program and what it started: NAME SIGNAL
signal() { kill "-$2" -- "-$(cat "pid/$1")"; }

# Ends a program and waits for it: NAME [SIGNAL]
stop() {
    [ -e "pid/$1" ] || return 0
    pid=$(cat "pid/$1")
    rm "pid/$1"
    kill -CONT -- "-$pid" 2>/dev/null || true
    kill "-${2:-TERM}" -- "-$pid" 2>/dev/null || true
    for _ in $(seq 60); do
        kill -0 -- "-$pid" 2>/dev/null || return 0
        sleep 0.05
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
}

# Waits until a command succeeds, 20 s at most.
await() {
    for _ in $(seq 200); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    echo "in vain: $*" >&2
    return 1
}

# A file of so many MiB with real blocks, of which nothing is cached: NAME MIB
blocks() { dd if=/dev/urandom of="$1" bs=1M count="$2" oflag=direct conv=fsync status=none; }

# PostgreSQL with pgbench's tables, in a group: GROUP OPTION…
database() {
    postgres="setpriv --reuid=postgres --regid=postgres --clear-groups"
    if [ ! -e "$CACHE/postgres/ready" ]; then
        install -d -o postgres -g postgres "$CACHE/postgres"
        (cd / && $postgres env PATH="$PATH" initdb -D "$CACHE/postgres/data" -A trust -N >/dev/null)
        start postgres - $postgres env PATH="$PATH" postgres -D "$CACHE/postgres/data" -k "$CACHE/postgres" -c listen_addresses= -c fsync=off
        await pg_isready -q -h "$CACHE/postgres"
        pgbench -h "$CACHE/postgres" -U postgres -i -s 5 -q postgres >/dev/null 2>&1
        stop postgres INT
        touch "$CACHE/postgres/ready"
    fi
    member=$1
    shift
    start postgres "$member" $postgres env PATH="$PATH" postgres -D "$CACHE/postgres/data" -k "$CACHE/postgres" -c listen_addresses= -c max_connections=200 "$@"
    await psql -h "$CACHE/postgres" -U postgres -c 'checkpoint'
}
sql() { psql -q -h "$CACHE/postgres" -U postgres -c "$1"; }
# Changes a setting of the running server: NAME VALUE
setting() { sql "alter system set $1 = $2"; sql "select pg_reload_conf()" >/dev/null; }
# A client of the server: NAME OPTION…
bench() {
    name=$1
    shift
    start "$name" - pgbench -h "$CACHE/postgres" -U postgres -n -P 1 -T 600 "$@" postgres
}

# Ends everything that was started, the last one first.
finish() {
    # shellcheck disable=SC2012 # names are ours
    for name in $(ls -t pid); do
        if [ "$name" = postgres ]; then
            psql -q -h "$CACHE/postgres" -U postgres -c 'alter system reset all' || true
            stop postgres INT
        else stop "$name"; fi
    done
}

# A peer that answers after so many seconds: PORT SECONDS
backend() {
    echo "$2" >delay
    start backend - python3 "$HERE/backend.py" "$1"
    await curl -s "http://127.0.0.1:$1/"
}

# A broker in a group, without anything beside it: GROUP
broker() {
    mkdir -p rabbit
    chown rabbitmq:rabbitmq rabbit
    export ERL_EPMD_PORT=17660 ERL_LIBS=$(echo /usr/lib/rabbitmq/lib/*/plugins)
    start broker "$1" setpriv --reuid=rabbitmq --regid=rabbitmq --clear-groups env HOME="$DIR/rabbit" \
        RABBITMQ_NODENAME=limits@localhost RABBITMQ_NODE_PORT=17661 RABBITMQ_DIST_PORT=17662 RABBITMQ_MNESIA_BASE="$DIR/rabbit" \
        RABBITMQ_LOG_BASE="$DIR/rabbit" RABBITMQ_ENABLED_PLUGINS_FILE="$DIR/rabbit/plugins" RABBITMQ_CONFIG_FILES="$DIR/rabbit" \
        "$(echo /usr/lib/rabbitmq/lib/*/sbin/rabbitmq-server)"
    await bash -c 'exec 3<>/dev/tcp/127.0.0.1/17661'
}
