package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/numalet/numalet/pkg/containerdconf"
)

// checkRequired checks that the configuration of the container runtime requires the agent. For
// containerd, it reads the main configuration file and the files that this file imports. The output
// of `containerd config dump` would not help, because it lists conf.d even if containerd does not
// read it.
func checkRequired(m machine) (Finding, error) {
	crio, err := m.onCRIO()
	if err != nil {
		return Finding{}, err
	}
	if crio {
		return checkRequiredByCRIO(m)
	}
	main, program, err := m.containerd()
	if err != nil {
		return Finding{}, err
	}
	v, err := m.validator(main)
	if err != nil {
		return Finding{}, err
	}
	remedy, err := m.remedy(main)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Status: Warning, Why: "while the agent is away, containers start on all CPUs, exclusive ones included", Remedy: remedy}
	switch {
	case v.lists && v.enabled:
		return m.supported(program, v, f)
	case v.lists:
		f.Found = "containerd does not require the agent, because enable is not true in the table default_validator (/" + v.file + ")"
	case !v.read:
		f.Status, f.Found = Unknown, "no file /"+main+", which is containerd's configuration"
	default:
		f.Found = "containerd does not require the agent"
		unread, err := m.notImported(v)
		if err != nil {
			return Finding{}, err
		}
		if unread != "" {
			f.Found = "containerd does not read /" + unread + ", because /" + main + " does not import it"
		}
	}
	return f, nil
}

// supported returns the finding for a configuration that requires the agent. containerd before 2.2
// ignores such a configuration. If containerd does not run, its version is unknown. The parameter
// `f` is the finding for a containerd that does not require the agent.
func (m machine) supported(program string, v validator, f Finding) (Finding, error) {
	content, there := "", false
	if program != "" {
		var err error
		if content, there, err = m.text(program); err != nil {
			return Finding{}, err
		}
	}
	switch {
	case !there:
		f.Status, f.Found = Unknown, "/"+v.file+" requires the agent, and it is not known whether containerd is 2.2 or later, because it does not run"
		f.Remedy = "start containerd, and run numalet doctor --node again"
	case !strings.Contains(content, "tolerate_missing_plugins_annotation"): // the name of a setting that came together with required_plugins
		f.Found = "containerd is older than 2.2, and so ignores that /" + v.file + " requires the agent"
		f.Remedy = "upgrade containerd to 2.2 or later"
	default:
		f = Finding{Status: OK, Found: "containerd requires the agent (/" + v.file + ")"}
	}
	return f, nil
}

// remedy says how to make containerd require the agent, if its main configuration file is `main`.
func (m machine) remedy(main string) (string, error) {
	release, _, err := m.text("etc/os-release")
	if err != nil {
		return "", err
	}
	if managed := containerdconf.Managed("/"+main, release); managed != nil {
		return managed.Error(), nil
	}
	return "with containerd 2.2 or later, set containerd.installer=install of the chart, or kubectl apply -k deploy/containerd; see its README", nil
}

// containerd returns the main configuration file of containerd, and the file of its running program,
// or "" if containerd does not run. k3s, RKE2 and k0s name the configuration file in the command
// line of their containerd.
func (m machine) containerd() (main, program string, err error) {
	running, err := m.onHost("containerd")
	if err != nil {
		return "", "", err
	}
	used, err := m.socket()
	if err != nil {
		return "", "", err
	}
	for i, dir := range running {
		main, socket, err := m.serves(dir)
		if err != nil {
			return "", "", err
		}
		if bare(socket) == used || i == len(running)-1 {
			return main, dir + "/exe", nil
		}
	}
	for _, main := range []string{"var/lib/rancher/k3s/agent/etc/containerd/config.toml", "var/lib/rancher/rke2/agent/etc/containerd/config.toml", "etc/k0s/containerd.toml"} {
		if there, err := m.exists(main); err != nil || there {
			return main, "", err
		}
	}
	return strings.TrimPrefix(containerdconf.DefaultMain, "/"), "", nil
}

// serves returns the main configuration file of a running containerd, and the socket on which it
// serves.
func (m machine) serves(dir string) (main, socket string, err error) {
	command, err := m.command(dir)
	if err != nil {
		return "", "", err
	}
	main = strings.TrimPrefix(containerdconf.MainFile(command), "/")
	if socket = flag(command, "--address", "-a"); socket != "" {
		return main, socket, nil
	}
	text, _, err := m.text(main)
	if err != nil {
		return "", "", err
	}
	var settings containerdFile
	_ = toml.Unmarshal([]byte(text), &settings) // the check fail-closed reports errors in the file
	return main, cmp.Or(settings.GRPC.Address, defaultSocket), nil
}

const (
	defaultSocket = "/run/containerd/containerd.sock"
	rancherSocket = "/run/k3s/containerd/containerd.sock" // of k3s and RKE2, whose kubelet may be no process of its own
)

// socket returns the path of the socket of the container runtime that the kubelet uses. A node may run
// several containerds: Bottlerocket has one for host containers, and Docker has its own.
func (m machine) socket() (string, error) {
	endpoint, err := m.endpoint()
	if err != nil || endpoint != "" {
		return bare(endpoint), err
	}
	if there, err := m.exists(rancherSocket[1:]); err != nil || there {
		return rancherSocket, err
	}
	return defaultSocket, nil
}

// bare returns the path of a socket without a scheme, and below /run instead of /var/run, which is the
// same directory.
func bare(socket string) string {
	return strings.TrimPrefix(strings.TrimPrefix(socket, "unix://"), "/var")
}

// validator has the settings of containerd's default validator for NRI that make containerd require
// the agent.
type validator struct {
	read    bool     // the main configuration file exists, or containerd runs without one
	enabled bool     // enable is true
	lists   bool     // required_plugins has numalet
	file    string   // the last file that has required_plugins
	files   []string // the files that containerd reads
}

// containerdFile has the settings in a configuration file of containerd that matter here. A setting
// that is not in the file is nil.
type containerdFile struct {
	Imports []string `toml:"imports"`
	GRPC    struct {
		Address string `toml:"address"`
	} `toml:"grpc"`
	Plugins struct {
		NRI struct {
			Validator struct {
				Enable   *bool     `toml:"enable"`
				Required *[]string `toml:"required_plugins"`
			} `toml:"default_validator"`
		} `toml:"io.containerd.nri.v1.nri"`
	} `toml:"plugins"`
}

// validator reads the main configuration file of containerd and the files that it imports. If
// several files have a setting, the last of them takes effect.
func (m machine) validator(main string) (validator, error) {
	v := validator{files: []string{main}, read: "/"+main == containerdconf.DefaultMain}
	for i := 0; i < len(v.files); i++ { // the loop appends imported files to v.files
		text, there, err := m.text(v.files[i])
		if err != nil {
			return v, err
		}
		v.read = v.read || there
		var settings containerdFile
		if err := toml.Unmarshal([]byte(text), &settings); err != nil {
			return v, fmt.Errorf("parse /%s: %w", v.files[i], err)
		}
		here := settings.Plugins.NRI.Validator
		if here.Enable != nil {
			v.enabled = *here.Enable
		}
		if here.Required != nil {
			v.lists, v.file = slices.Contains(*here.Required, containerdconf.Plugin), v.files[i]
		}
		more, err := m.imports(v.files[i], settings.Imports)
		if err != nil {
			return v, err
		}
		for _, name := range more {
			if !slices.Contains(v.files, name) {
				v.files = append(v.files, name)
			}
		}
	}
	return v, nil
}

// imports returns the existing files that match the list of imports in a configuration file of
// containerd.
func (m machine) imports(file string, patterns []string) (files []string, err error) {
	for _, pattern := range patterns {
		if !path.IsAbs(pattern) {
			pattern = path.Join("/", path.Dir(file), pattern)
		}
		found, err := fs.Glob(m, strings.TrimPrefix(path.Clean(pattern), "/"))
		if err != nil && !errors.Is(err, path.ErrBadPattern) { // containerd imports no file for such a pattern
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// notImported returns a drop-in file for containerd that lists the agent in
// required_plugins, but is not among the files that containerd reads. If there is none, it returns
// "".
func (m machine) notImported(v validator) (string, error) {
	all, err := fs.Glob(m, "etc/containerd/conf.d/*.toml")
	if err != nil {
		return "", err
	}
	if there, err := m.exists(containerdconf.K3sDropIn[1:]); err == nil && there {
		all = append(all, containerdconf.K3sDropIn[1:])
	}
	for _, name := range all {
		if slices.Contains(v.files, name) {
			continue
		}
		alone, err := m.validator(name)
		if err != nil || alone.lists {
			return name, err
		}
	}
	return "", nil
}
