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

// dropInExtension is what the kubelet reads in its --config-dir.
const dropInExtension = ".conf"

// Config is what Numalet needs to know of the kubelet's configuration. The
// zero value stands for a kubelet without a configuration file.
type Config struct {
	ReservedSystemCPUs cpuset.Set
	ReservedMilliCPU   int64 // systemReserved + kubeReserved; means nothing beside ReservedSystemCPUs
	CPUManagerPolicy   string
	Files              []string // what was read, in the order of reading
}

// ReadConfig reads the kubelet's configuration file, which may be absent, and
// then the files of its drop-in directory ("" for none) over it, in lexical
// order and with its subdirectories, as the kubelet does. Keys that this
// version does not know are skipped: the kubelet may be of another version.
// What the kubelet got by flags or through the API server is not seen.
// Source: https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/
func ReadConfig(file, dropIns string) (Config, error) {
	files, err := configFiles(file, dropIns)
	if err != nil {
		return Config{}, err
	}
	var k v1beta1.KubeletConfiguration
	for _, path := range files {
		if err := merge(&k, path); err != nil {
			return Config{}, err
		}
	}
	return newConfig(k, files)
}

// configFiles lists the files that exist.
func configFiles(file, dropIns string) ([]string, error) {
	var files []string
	if _, err := os.Stat(file); err == nil {
		files = append(files, file)
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the kubelet's configuration: %w: check --kubelet-config and the mount of its directory", err)
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
		return nil, fmt.Errorf("read the kubelet's drop-in directory: %w: check --kubelet-config-dir and its mount", err)
	}
	return files, nil
}

// merge reads one file over what is known: keys that the file lacks stay, and
// maps are merged key by key, which is how the kubelet merges.
func merge(k *v1beta1.KubeletConfiguration, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the kubelet's configuration: %w: let this process read the file", err)
	}
	if err := yaml.Unmarshal(text, k); err != nil {
		return fmt.Errorf("parse the kubelet's configuration %s: %w: the kubelet will not read it either; or name another file with --kubelet-config", path, err)
	}
	return nil
}

func newConfig(k v1beta1.KubeletConfiguration, files []string) (Config, error) {
	c := Config{CPUManagerPolicy: k.CPUManagerPolicy, Files: files}
	var err error
	if c.ReservedSystemCPUs, err = cpuset.Parse(k.ReservedSystemCPUs); err != nil {
		return Config{}, fmt.Errorf("reservedSystemCPUs in %s: %w: correct it, or give --reserved-cpus", files, err)
	}
	for key, reserved := range map[string]map[string]string{"systemReserved": k.SystemReserved, "kubeReserved": k.KubeReserved} {
		milli, err := milliCPU(reserved["cpu"])
		if err != nil {
			return Config{}, fmt.Errorf("%s.cpu in %s: %w: correct it, or give --reserved-cpus", key, files, err)
		}
		c.ReservedMilliCPU += milli
	}
	return c, nil
}

func milliCPU(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("parse quantity %q: %w", text, err)
	}
	if q.Sign() < 0 {
		return 0, fmt.Errorf("quantity %q is negative", text)
	}
	return q.MilliValue(), nil
}
