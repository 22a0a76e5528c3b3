package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// kubeletConfig has the fields of the kubelet's configuration file that the checks of numalet
// doctor read.
type kubeletConfig struct {
	ContainerRuntimeEndpoint string            `json:"containerRuntimeEndpoint"`
	CPUManagerPolicy         string            `json:"cpuManagerPolicy"`
	MemoryManagerPolicy      string            `json:"memoryManagerPolicy"`
	TopologyManagerPolicy    string            `json:"topologyManagerPolicy"`
	ReservedSystemCPUs       string            `json:"reservedSystemCPUs"`
	SystemReserved           map[string]string `json:"systemReserved"`
	KubeReserved             map[string]string `json:"kubeReserved"`
}

// kubelet reads the kubelet's configuration file, and then the files of its drop-in directory. As in
// the kubelet, a later file overrides the earlier ones. The result `exists` is false if there is no
// file. The function does not see the kubelet's flags.
func (m machine) kubelet() (c kubeletConfig, exists bool, err error) {
	names, err := m.dropIns()
	if err != nil {
		return c, false, err
	}
	for _, name := range append([]string{m.KubeletConfig}, names...) {
		text, there, err := m.text(name)
		if err != nil {
			return c, false, err
		}
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			return c, true, fmt.Errorf("parse /%s: %w", name, err)
		}
		exists = exists || there
	}
	return c, exists, nil
}

// dropIns returns the files with the extension .conf in the kubelet's drop-in directory and its
// subdirectories, in lexical order.
func (m machine) dropIns() (names []string, err error) {
	if m.KubeletConfigDir == "" {
		return nil, nil
	}
	err = fs.WalkDir(m, m.KubeletConfigDir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(name) == ".conf" {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// kubeletFiles returns a text for messages that names the kubelet's configuration file and its
// drop-in directory.
func (m machine) kubeletFiles() string {
	if m.KubeletConfigDir == "" {
		return "/" + m.KubeletConfig
	}
	return "/" + m.KubeletConfig + " or in /" + m.KubeletConfigDir
}

// onCRIO reports whether the kubelet uses CRI-O. It looks for the name of CRI-O in the path of the
// container runtime's socket. This path is the value of the kubelet's flag
// --container-runtime-endpoint or, without the flag, a setting in the kubelet's configuration file. If
// neither exists, onCRIO checks which sockets of container runtimes exist. The kubelet's default is
// containerd, so if the sockets of containerd and CRI-O exist, onCRIO returns false.
func (m machine) onCRIO() (bool, error) {
	endpoint, err := m.endpointFlag()
	if err == nil && endpoint == "" {
		var c kubeletConfig
		c, _, err = m.kubelet()
		endpoint = c.ContainerRuntimeEndpoint
	}
	if err != nil || endpoint != "" {
		return strings.Contains(endpoint, "crio"), err
	}
	if containerd, err := m.exists("run/containerd/containerd.sock"); err != nil || containerd {
		return false, err
	}
	return m.exists("run/crio/crio.sock")
}

// endpointFlag returns the value of the flag --container-runtime-endpoint of the running kubelet, or "".
// A node can have this flag instead of the setting in the configuration file.
func (m machine) endpointFlag() (string, error) {
	dir, err := m.process("kubelet")
	if err != nil || dir == "" {
		return "", err
	}
	args, _, err := m.text(path.Join(dir, "cmdline"))
	_, after, _ := strings.Cut(strings.ReplaceAll(args, "=", "\x00"), "--container-runtime-endpoint\x00")
	value, _, _ := strings.Cut(after, "\x00")
	return value, err
}

// noConfig returns the finding for a node on which the kubelet's configuration file does not exist.
func (m machine) noConfig() Finding {
	return Finding{
		Status: Warning, Found: "no file " + m.kubeletFiles(), Why: "the kubelet's settings could not be checked",
		Remedy: "name the file with --kubelet-config, and the directory of drop-in files, if the kubelet has one, with --kubelet-config-dir",
	}
}

func checkManagers(m machine) (Finding, error) {
	c, exists, err := m.kubelet()
	if err != nil || !exists {
		return m.noConfig(), err
	}
	var wrong []string
	for _, policy := range []struct{ name, value, none string }{
		{"cpuManagerPolicy", c.CPUManagerPolicy, "none"},
		{"memoryManagerPolicy", c.MemoryManagerPolicy, "None"},
		{"topologyManagerPolicy", c.TopologyManagerPolicy, "none"},
	} {
		if policy.value != "" && policy.value != policy.none {
			wrong = append(wrong, fmt.Sprintf("%s: %s", policy.name, policy.value))
		}
	}
	if len(wrong) == 0 {
		return Finding{Status: OK, Found: "the kubelet's CPU, memory and topology managers are off"}, nil
	}
	return Finding{
		Status: Error, Found: strings.Join(wrong, ", "), Why: "the kubelet would write cpusets too, or refuse pods that Numalet placed",
		Remedy: "drain the node, stop the kubelet, set the policies to none in " + m.kubeletFiles() + ", delete /var/lib/kubelet/cpu_manager_state and memory_manager_state, and start the kubelet",
	}, nil
}

func checkReserved(m machine) (Finding, error) {
	c, exists, err := m.kubelet()
	if err != nil || !exists {
		return m.noConfig(), err
	}
	switch {
	case c.ReservedSystemCPUs != "":
		return Finding{Status: OK, Found: "reservedSystemCPUs: " + c.ReservedSystemCPUs}, nil
	case c.SystemReserved["cpu"] != "" || c.KubeReserved["cpu"] != "":
		return Finding{Status: OK, Found: "systemReserved or kubeReserved has cpu"}, nil
	}
	return Finding{
		Status: Warning, Found: "no CPU is reserved for the system", Why: "shared containers and the system keep only one CPU when the node is full",
		Remedy: "set reservedSystemCPUs in " + m.kubeletFiles() + ", or the agent's setting reserved-cpus",
	}, nil
}
