package sysfs

import (
	"io/fs"
	"slices"
)

// Files returns the names of the files and directories of root that describe the machine's
// topology, sorted. The result includes all files that Discover reads. For most sets of CPUs, the
// kernel has two files: one with a mask and one with a list. Discover reads only one of these two.
// The result has both, because programs such as lstopo may read the one that Discover does not
// read. The files contain no name of a host, user or process.
func Files(root fs.FS) ([]string, error) {
	var files []string
	for _, pattern := range patterns() {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, names...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// patterns returns a pattern for each name in the result of Files. The file names are listed one by
// one. A pattern such as topology/* would also match files with serial numbers, such as
// topology/ppin.
func patterns() []string {
	const cpu, node = cpuDir + "/cpu[0-9]*", nodeDir + "/node[0-9]*"
	all := []string{
		cpu, node,
		cpu + "/online", cpu + "/cpu_capacity",
		"sys/devices/cpu_core/cpus", "sys/devices/cpu_atom/cpus", "sys/devices/cpu_lowpower/cpus",
		"sys/kernel/mm/hugepages/hugepages-*/nr_hugepages",
		node + "/hugepages/hugepages-*/nr_hugepages",
		"proc/meminfo", zoneinfo, "proc/driver/nvidia/gpus/*/numa_status",
	}
	for dir, names := range map[string][]string{
		cpuDir: {"online", "offline", "possible", "present", "isolated", "nohz_full"},
		cpu + "/topology": {
			"physical_package_id", "die_id", "cluster_id", "core_id",
			"core_cpus", "core_cpus_list", "thread_siblings", "thread_siblings_list",
			"die_cpus", "die_cpus_list", "cluster_cpus", "cluster_cpus_list",
			"package_cpus", "package_cpus_list", "core_siblings", "core_siblings_list",
		},
		cpu + "/cache/index[0-9]*": {"level", "type", "id", "size", "shared_cpu_map", "shared_cpu_list"},
		nodeDir:                    {"online", "possible", "has_cpu", "has_memory"},
		node:                       {"cpumap", "cpulist", "distance", "meminfo"},
	} {
		for _, name := range names {
			all = append(all, dir+"/"+name)
		}
	}
	return all
}
