package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/pkg/cpuset"
)

// dropInExtension is the extension of the files that the kubelet reads in its
// --config-dir.
const dropInExtension = ".conf"

// Config is the part of the kubelet's configuration that Numalet uses.
type Config struct {
	ReservedSystemCPUs cpuset.Set
	ReservedMilliCPU   int64 // systemReserved + kubeReserved; ignored if ReservedSystemCPUs is set
	Memory             Memory
	CPUManagerPolicy   string
	// MemoryManagerPolicy and TopologyManagerPolicy are "" if they are not set. The
	// kubelet then uses the policy "none".
	MemoryManagerPolicy, TopologyManagerPolicy string
	Files                                      []string // the files that were read, in this order
}

// ReadConfig reads the kubelet's configuration file, which may be absent. Then it reads
// the files of the kubelet's drop-in directory and of its subdirectories, in lexical
// order, as the kubelet does. A later file overrides the earlier ones. If dropIns is "",
// there is no drop-in directory. ReadConfig skips unknown keys, because the kubelet can be
// newer than this program. The result lacks settings that the kubelet gets from its flags.
// Source: https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/
func ReadConfig(file, dropIns string) (Config, error) {
	files, err := configFiles(file, dropIns)
	if err != nil {
		return Config{}, err
	}
	var kubeletConfig v1beta1.KubeletConfiguration
	for _, path := range files {
		if err := merge(&kubeletConfig, path); err != nil {
			return Config{}, err
		}
	}
	return newConfig(kubeletConfig, files)
}

// configFiles returns those configuration files of the kubelet that exist, in the order
// in which the kubelet merges them.
func configFiles(file, dropIns string) ([]string, error) {
	var files []string
	if _, err := os.Stat(file); err == nil {
		files = append(files, file)
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the kubelet's configuration: %w; check --kubelet-config and the mount of its directory", err)
	}
	if dropIns == "" {
		return files, nil
	}
	err := filepath.WalkDir(dropIns, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == dropInExtension {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's drop-in directory: %w; check --kubelet-config-dir and its mount", err)
	}
	return files, nil
}

// merge merges one file into a configuration, as the kubelet does: keys that the file
// lacks keep their values, and maps are merged key by key.
func merge(k *v1beta1.KubeletConfiguration, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the kubelet's configuration: %w; make the file readable for this process", err)
	}
	if err := yaml.Unmarshal(text, k); err != nil {
		return fmt.Errorf("parse the kubelet's configuration %s: %w; correct the file, or set --kubelet-config to another one", path, err)
	}
	return nil
}

func newConfig(kubeletConfig v1beta1.KubeletConfiguration, files []string) (Config, error) {
	c := Config{
		CPUManagerPolicy: kubeletConfig.CPUManagerPolicy, MemoryManagerPolicy: kubeletConfig.MemoryManagerPolicy,
		TopologyManagerPolicy: kubeletConfig.TopologyManagerPolicy, Files: files,
	}
	var err error
	if c.ReservedSystemCPUs, err = cpuset.Parse(kubeletConfig.ReservedSystemCPUs); err != nil {
		return Config{}, fmt.Errorf("reservedSystemCPUs in %s: %w; correct it, or set --reserved-cpus", files, err)
	}
	for key, reserved := range map[string]map[string]string{"systemReserved": kubeletConfig.SystemReserved, "kubeReserved": kubeletConfig.KubeReserved} {
		milli, err := milliCPU(reserved["cpu"])
		if err != nil {
			return Config{}, fmt.Errorf("%s.cpu in %s: %w; correct it, or set --reserved-cpus", key, files, err)
		}
		c.ReservedMilliCPU += milli
	}
	if c.Memory, err = newMemory(kubeletConfig); err != nil {
		return Config{}, fmt.Errorf("%w, in %s; correct it", err, files)
	}
	return c, nil
}

func milliCPU(text string) (int64, error) {
	q, err := amount(text)
	return q.MilliValue(), err
}

// amount parses a quantity, which must not be negative. An empty text is 0.
func amount(text string) (quantity resource.Quantity, err error) {
	if text == "" {
		return quantity, nil
	}
	if quantity, err = resource.ParseQuantity(text); err != nil {
		return quantity, fmt.Errorf("parse quantity %q: %w", text, err)
	}
	if quantity.Sign() < 0 {
		return resource.Quantity{}, fmt.Errorf("quantity %q is negative", text)
	}
	return quantity, nil
}
