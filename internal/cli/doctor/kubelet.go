package doctor

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// kubeletConfig has the fields of the kubelet's configuration file that the checks of numalet
// doctor read.
type kubeletConfig struct {
	CPUManagerPolicy      string            `json:"cpuManagerPolicy"`
	MemoryManagerPolicy   string            `json:"memoryManagerPolicy"`
	TopologyManagerPolicy string            `json:"topologyManagerPolicy"`
	ReservedSystemCPUs    string            `json:"reservedSystemCPUs"`
	SystemReserved        map[string]string `json:"systemReserved"`
	KubeReserved          map[string]string `json:"kubeReserved"`
}

// kubelet reads the kubelet's configuration file. It does not see the kubelet's flags.
func (m machine) kubelet() (c kubeletConfig, exists bool, err error) {
	text, exists, err := m.text(m.KubeletConfig)
	if err != nil || !exists {
		return c, exists, err
	}
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		return c, true, fmt.Errorf("parse /%s: %w", m.KubeletConfig, err)
	}
	return c, true, nil
}

// noConfig returns the finding for a node on which the kubelet's configuration file does not exist.
func (m machine) noConfig() Finding {
	return Finding{
		Status: Warning, Found: "no file /" + m.KubeletConfig, Why: "the kubelet's settings could not be checked",
		Remedy: "name the file with --kubelet-config",
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
		Remedy: "set the policies to none in /" + m.KubeletConfig + ", drain the node, delete /var/lib/kubelet/cpu_manager_state and memory_manager_state, and restart the kubelet",
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
		Remedy: "set reservedSystemCPUs in /" + m.KubeletConfig + ", or the agent's setting reserved-cpus",
	}, nil
}
