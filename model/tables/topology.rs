//! Packages, dies, caches, cores, CPUs, nodes and the devices at them. Ids are the kernel's.

use crate::table::table;

table! {
    /// Every possible CPU.
    CpuTopology = 10 "cpu_topology" {
        /// Its number.
        cpu: Num = 1 (Id, None, "sys/devices/system/cpu/cpu*"),
        /// Its node; none on a machine without nodes.
        node: Num = 2 (Fact, None, "sys/devices/system/node/node*/cpulist"),
        /// Its package.
        package: Num = 3 (Fact, None, "sys/devices/system/cpu/cpu*/topology/physical_package_id"),
        /// Its die in the package.
        die: Num = 4 (Fact, None, "sys/devices/system/cpu/cpu*/topology/die_id"),
        /// Its cluster.
        cluster: Num = 5 (Fact, None, "sys/devices/system/cpu/cpu*/topology/cluster_id"),
        /// Its core: unique on the machine only with package and die.
        core: Num = 6 (Fact, None, "sys/devices/system/cpu/cpu*/topology/core_id"),
        /// The CPUs of its core, itself included.
        smt_siblings: Sets = 7 (Fact, None, "sys/devices/system/cpu/cpu*/topology/thread_siblings_list"),
        /// Its L3: the cache's id where the kernel has one, else the first CPU that shares it.
        l3: Num = 8 (Fact, None, "sys/devices/system/cpu/cpu*/cache/index*"),
        /// 1 when online.
        online: Num = 9 (Fact, None, "sys/devices/system/cpu/online"),
        /// 1 when isolated from the scheduler.
        isolated: Num = 10 (Fact, None, "sys/devices/system/cpu/isolated"),
        /// Highest clock.
        max_khz: Num = 11 (Fact, Kilohertz, "sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq"),
        /// Scheduler capacity: 1024 is the biggest core of the machine.
        capacity: Num = 12 (Fact, None, "sys/devices/system/cpu/cpu*/cpu_capacity"),
        /// cpufreq governor.
        governor: Text = 13 (Fact, None, "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"),
        /// The CPUs of its package.
        package_siblings: Sets = 14 (Fact, None, "sys/devices/system/cpu/cpu*/topology/core_siblings_list"),
        /// 1 when the tick is stopped on it (nohz_full).
        nohz_full: Num = 15 (Fact, None, "sys/devices/system/cpu/nohz_full"),
        /// 1 when it is plugged in, 0 when the kernel could only bring it up later.
        present: Num = 16 (Fact, None, "sys/devices/system/cpu/present"),
        /// cpufreq driver.
        cpufreq_driver: Text = 17 (Fact, None, "sys/devices/system/cpu/cpu*/cpufreq/scaling_driver"),
        /// Highest clock that the policy allows.
        limit_khz: Num = 18 (Fact, Kilohertz, "sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq"),
    }
}

table! {
    /// Every node, with or without CPUs and memory.
    NodeTopology = 11 "node_topology" {
        /// Its number.
        node: Num = 1 (Id, None, "sys/devices/system/node/node*"),
        /// Its CPUs, offline ones included where the kernel lists them.
        cpus: Sets = 2 (Fact, None, "sys/devices/system/node/node*/cpulist"),
        /// Its memory.
        memory_total_bytes: Num = 3 (Fact, Bytes, "sys/devices/system/node/node*/meminfo"),
        /// Distance to each node by its id; its own is 10.
        distances: Sparse = 4 (Fact, None, "sys/devices/system/node/node*/distance"),
        /// 1 when the kernel counts it among the nodes with CPUs.
        has_cpus: Num = 5 (Fact, None, "sys/devices/system/node/has_cpu"),
        /// 1 when the kernel counts it among the nodes with memory.
        has_memory: Num = 6 (Fact, None, "sys/devices/system/node/has_memory"),
        /// Kind of memory where libhwloc knows it: `DRAM`, `HBM`, `NVM`, `CXL`.
        tier: Text = 7 (Fact, None, "hwloc"),
    }
}

table! {
    /// Caches shared by CPUs, L2 upwards, and groups between package and core that libhwloc adds.
    Domains = 12 "domains" {
        /// `L2`, `L3`, `L4` or `Group`.
        kind: Text = 1 (Id, None, "sys/devices/system/cpu/cpu*/cache/index*/level"),
        /// The kernel's id, else the first CPU.
        domain: Num = 2 (Id, None, "sys/devices/system/cpu/cpu*/cache/index*/id"),
        /// Its CPUs.
        cpus: Sets = 3 (Fact, None, "sys/devices/system/cpu/cpu*/cache/index*/shared_cpu_list"),
        /// Its size.
        size_bytes: Num = 4 (Fact, Bytes, "sys/devices/system/cpu/cpu*/cache/index*/size"),
    }
}

table! {
    /// PCI devices of the classes that matter here (network, storage, accelerators).
    PciDevices = 13 "pci_devices" {
        /// Domain, bus, device and function: `0000:3b:00.0`.
        address: Text = 1 (Id, None, "sys/bus/pci/devices"),
        /// Class code, 24 bits.
        class: Num = 2 (Fact, None, "sys/bus/pci/devices/*/class"),
        /// Its node; none when the firmware does not say.
        node: Num = 3 (Fact, None, "sys/bus/pci/devices/*/numa_node"),
        /// CPUs next to it.
        local_cpus: Sets = 4 (Fact, None, "sys/bus/pci/devices/*/local_cpulist"),
        /// Driver bound to it.
        driver: Text = 5 (Fact, None, "sys/bus/pci/devices/*/driver"),
        /// Name of the interface or disk behind it.
        name: Text = 6 (Fact, None, "sys/bus/pci/devices/*/net"),
        /// CPUs next to it as libhwloc sees them, where sysfs says nothing.
        hwloc_cpus: Sets = 7 (Fact, None, "hwloc"),
        /// Vendor and device ids in hex: `8086:1572`.
        id: Text = 8 (Fact, None, "sys/bus/pci/devices/*/vendor"),
        /// Distance of each node from where libhwloc sees it, where sysfs says nothing.
        hwloc_distances: Sparse = 9 (Fact, None, "hwloc"),
    }
}
