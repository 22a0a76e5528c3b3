package doctor

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
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
// file, although the kubelet may have one. The function does not see the kubelet's flags (see kubeletFlag).
func (m machine) kubelet() (c kubeletConfig, exists bool, err error) {
	names, err := m.dropIns()
	if err != nil {
		return c, false, err
	}
	exists = m.KubeletConfig == "" // then the kubelet has no configuration file
	for _, name := range append([]string{m.KubeletConfig}, names...) {
		if name == "" {
			continue
		}
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
	if there, err := m.exists(m.KubeletConfigDir); err != nil || !there {
		return nil, cmp.Or(err, fmt.Errorf("no directory /%s", m.KubeletConfigDir))
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
	switch {
	case m.KubeletConfig == "" && m.KubeletConfigDir == "":
		return "the kubelet's configuration file"
	case m.KubeletConfig == "":
		return "/" + m.KubeletConfigDir
	case m.KubeletConfigDir == "":
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
	endpoint, err := m.endpoint()
	if err != nil || endpoint != "" {
		return strings.Contains(endpoint, "crio"), err
	}
	if containerd, err := m.exists("run/containerd/containerd.sock"); err != nil || containerd {
		return false, err
	}
	return m.exists("run/crio/crio.sock")
}

// endpoint returns the socket of the container runtime that the kubelet uses, as the kubelet's flag or
// configuration names it, or "".
func (m machine) endpoint() (string, error) {
	endpoint, err := m.kubeletFlag("container-runtime-endpoint")
	if err != nil || endpoint != "" {
		return endpoint, err
	}
	c, _, err := m.kubelet()
	return c.ContainerRuntimeEndpoint, err
}

// kubeletFlag returns the value of a flag of the running kubelet, or "". A node can have a flag instead
// of the setting in the configuration file. k3s has no process of the name kubelet.
func (m machine) kubeletFlag(name string) (string, error) {
	processes, err := m.onHost("kubelet")
	if err != nil || len(processes) == 0 {
		return "", err
	}
	command, err := m.command(processes[0])
	return flag(command, "--"+name), err
}

// command returns the words of the command line of a process.
func (m machine) command(process string) ([]string, error) {
	line, _, err := m.text(path.Join(process, "cmdline"))
	return strings.Split(strings.TrimRight(line, "\x00"), "\x00"), err
}

// flag returns the value of the last of the given flags in a command line, or "".
func flag(command []string, names ...string) (value string) {
	for i, word := range command {
		for _, name := range names {
			if after, ok := strings.CutPrefix(word, name+"="); ok {
				value = after
			} else if word == name && i+1 < len(command) {
				value = command[i+1]
			}
		}
	}
	return value
}

// noConfig returns the finding for a node on which the kubelet's configuration file does not exist.
func (m machine) noConfig() Finding {
	return Finding{
		Status: Unknown, Found: "no file " + m.kubeletFiles(), Why: "the kubelet's settings could not be checked",
		Remedy: "name the file with --kubelet-config, and the directory of drop-in files, if the kubelet has one, with --kubelet-config-dir",
	}
}

// manager is one of the kubelet's managers that Numalet cannot work beside. Its policy is a flag or a
// setting in the kubelet's configuration file, whose value is `configured`. The CPU and memory managers
// also write their policy to a state file in the kubelet's root directory, in whichever way it was set.
type manager struct{ setting, flag, state, none, configured string }

// on says that a manager is on: what shows it, and how to turn the manager off.
type on struct{ found, remedy string }

// check returns what shows that a manager is on. In the kubelet, a flag overrides the configuration file.
// But the agent reads only the file, so a wrong policy there is found even if a flag overrides it. The
// state file is read last: on k3s, whose kubelet is no process of its own, only this file shows the
// policy. If the policy was changed since, the kubelet does not start with the old file.
func (m machine) check(of manager) (found []on, err error) {
	byFlag, err := m.kubeletFlag(of.flag)
	if err != nil {
		return nil, err
	}
	if byFlag != "" && byFlag != of.none {
		found = append(found, on{"--" + of.flag + "=" + byFlag, "set the kubelet's flag --" + of.flag + "=" + of.none})
	}
	if of.configured != "" && of.configured != of.none {
		found = append(found, on{of.setting + ": " + of.configured, "set " + of.setting + ": " + of.none + " in " + m.kubeletFiles()})
	}
	if found != nil || of.state == "" {
		return found, nil
	}
	name := path.Join(m.root, of.state)
	text, _, err := m.text(name)
	if err != nil {
		return nil, err
	}
	var state struct {
		PolicyName string `json:"policyName"`
	}
	if err := yaml.Unmarshal([]byte(text), &state); err != nil {
		return nil, fmt.Errorf("parse /%s: %w", name, err)
	}
	if state.PolicyName != "" && state.PolicyName != of.none {
		found = append(found, on{"/" + name + ": " + state.PolicyName, "set " + of.setting + ": " + of.none + " where the kubelet gets it (on k3s, kubelet-arg)"})
	}
	return found, nil
}

func checkManagers(m machine) (Finding, error) {
	c, exists, err := m.kubelet()
	if err != nil {
		return Finding{}, err
	}
	var found, remedies []string
	var failed error
	for _, of := range []manager{
		{"cpuManagerPolicy", "cpu-manager-policy", "cpu_manager_state", "none", c.CPUManagerPolicy},
		{"memoryManagerPolicy", "memory-manager-policy", "memory_manager_state", "None", c.MemoryManagerPolicy},
		{"topologyManagerPolicy", "topology-manager-policy", "", "none", c.TopologyManagerPolicy},
	} {
		shown, err := m.check(of)
		failed = cmp.Or(failed, err)
		for _, is := range shown {
			found, remedies = append(found, is.found), append(remedies, is.remedy)
		}
	}
	switch {
	case len(found) > 0:
		return Finding{
			Status: Error, Found: strings.Join(found, ", "), Why: "the kubelet would write cpusets too, or refuse pods that Numalet placed",
			Remedy: fmt.Sprintf("drain the node, stop the kubelet, %s, delete /%[2]s/cpu_manager_state and /%[2]s/memory_manager_state, and start the kubelet", strings.Join(remedies, ", "), m.root),
		}, nil
	case failed != nil:
		return Finding{}, failed
	case !exists:
		return m.noConfig(), nil
	}
	return Finding{Status: OK, Found: "the kubelet's CPU, memory and topology managers are off"}, nil
}

func checkReserved(m machine) (Finding, error) {
	c, exists, err := m.kubelet()
	if err != nil || !exists {
		return m.noConfig(), err
	}
	switch {
	case c.ReservedSystemCPUs != "":
		return Finding{Status: OK, Found: "reservedSystemCPUs: " + c.ReservedSystemCPUs}, nil
	case isPositive(c.SystemReserved["cpu"]) || isPositive(c.KubeReserved["cpu"]):
		return Finding{Status: OK, Found: "systemReserved or kubeReserved has cpu"}, nil
	}
	return Finding{
		Status: Warning, Found: "no CPU is reserved for the system", Why: "shared containers and the system keep only one CPU when the node is full",
		Remedy: "set reservedSystemCPUs in " + m.kubeletFiles() + ", or the agent's setting reserved-cpus",
	}, nil
}

// isPositive reports whether a text is an amount of a resource that is more than zero.
func isPositive(text string) bool {
	amount, err := resource.ParseQuantity(text)
	return err == nil && amount.Sign() > 0
}
