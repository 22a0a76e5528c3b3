package containerdconf

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// Plugin is the name under which the agent registers as an NRI plugin. containerd must require
	// this plugin.
	Plugin = "numalet"
	// Annotation is the annotation of pods that may start while a required plugin is missing.
	Annotation = "tolerate-missing-nri-plugins.noderesource.dev"
)

// Tables and keys of containerd's NRI configuration.
const (
	nri       = "plugins.'io.containerd.nri.v1.nri'"
	validator = nri + ".default_validator"

	disable             = nri + ".disable"
	registrationTimeout = nri + ".plugin_registration_timeout"
	requestTimeout      = nri + ".plugin_request_timeout"
	enable              = validator + ".enable"
	required            = validator + ".required_plugins"
	tolerate            = validator + ".tolerate_missing_plugins_annotation"
	reject              = validator + ".reject_"
)

// Minimum timeouts of NRI. Numalet's drop-in file for containerd raises shorter timeouts to these
// values. containerd disconnects a plugin that does not answer within a timeout. The agent normally
// answers within milliseconds. But on a node with too little CPU, containerd's defaults of 5 s for
// registration and 2 s for requests may be too short.
const (
	minRegistration = 30 * time.Second
	minRequest      = 20 * time.Second
)

// Requires reports whether containerd with this configuration creates containers only while the
// agent's NRI plugin runs.
func (d Dump) Requires() bool {
	names, err := d.list(required)
	return err == nil && d[enable] == "true" && slices.Contains(names, Plugin)
}

// DropIn returns the text of a drop-in file for a containerd that has the configuration d, and a
// main configuration file of the given version. With the drop-in file, containerd requires the
// agent's NRI plugin. DropIn fails if that containerd cannot require plugins, or if the file would
// also change other behavior (see sleepingRule). The error says what to do.
//
// The version of the drop-in file is that of the main file, but at most 3. A drop-in file must not
// have a higher version than the main file: containerd 2.2 would ignore the CRI tables of a main
// file of version 2, and containerd 2.3.0 would not start. The tables of NRI have the same names in
// versions 2, 3 and 4.
func DropIn(d Dump, version int) (string, error) {
	if err := d.servesNRI(); err != nil {
		return "", err
	}
	names, err := d.list(required)
	switch {
	case err != nil:
		return "", err
	case len(names) > 0:
		return "", fmt.Errorf("containerd's configuration has required_plugins = %s, and a drop-in file would replace the list; add %q to it where it is set", d[required], Plugin)
	case unquoted(d[tolerate]) != "" && unquoted(d[tolerate]) != Annotation:
		return "", fmt.Errorf("containerd's configuration has tolerate_missing_plugins_annotation = %s; Numalet's pods have the annotation %s, so set that one", d[tolerate], Annotation)
	}
	if rule := d.sleepingRule(); rule != "" {
		return "", fmt.Errorf("containerd's default_validator is off, but %s is true, which would come into force with it; set it to false, or enable the validator yourself", rule)
	}
	return dropIn(d, min(version, defaultVersion)), nil
}

// servesNRI returns an error if containerd cannot require NRI plugins.
func (d Dump) servesNRI() error {
	off, err := d.list("disabled_plugins")
	if err != nil {
		return err
	}
	for _, plugin := range []string{"cri", "io.containerd.grpc.v1.cri", "io.containerd.nri.v1.nri"} {
		if slices.Contains(off, plugin) {
			return fmt.Errorf("containerd's configuration has %q in disabled_plugins; remove it", plugin)
		}
	}
	_, hasNRI := d[disable]
	_, hasList := d[required]
	switch {
	case !hasNRI:
		return fmt.Errorf("this containerd has no NRI that can require plugins; upgrade it to 2.2 or later")
	case d[disable] != "false":
		return fmt.Errorf("NRI is disabled in containerd's configuration; set disable = false in its table [%s]", nri)
	case !hasList:
		return fmt.Errorf("this containerd cannot require plugins of NRI (it has no default_validator.required_plugins); upgrade it to 2.2 or later")
	}
	return nil
}

// sleepingRule returns the name of a rule that would come into force with the drop-in file, or ""
// if there is none. The file turns on containerd's default validator for NRI, which has several
// rules. If the validator is off, but the configuration already sets one of its rules reject_* to
// true, this rule has no effect until the file turns on the validator.
func (d Dump) sleepingRule() string {
	if d[enable] == "true" {
		return ""
	}
	var rules []string
	for key, value := range d {
		if strings.HasPrefix(key, reject) && value == "true" {
			rules = append(rules, strings.TrimPrefix(key, validator+"."))
		}
	}
	if len(rules) == 0 {
		return ""
	}
	return slices.Min(rules)
}

const header = `# Written by numalet-containerd, which also removes it: no container is created without the agent.
# containerd 2.2 or later. See deploy/containerd/README.md before you install this file yourself.
# The version below is that of config.toml, but at most 3.
`

func dropIn(d Dump, version int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sversion = %d\n", header, version)
	late := ""
	for _, t := range []struct {
		key string
		min time.Duration
	}{{registrationTimeout, minRegistration}, {requestTimeout, minRequest}} {
		if now, err := time.ParseDuration(unquoted(d[t.key])); err != nil || now < t.min {
			late += fmt.Sprintf("  %s = %q\n", strings.TrimPrefix(t.key, nri+"."), fmt.Sprintf("%ds", int(t.min.Seconds())))
		}
	}
	if late != "" {
		b.WriteString("\n# A plugin that answers too late is dropped. The agent answers within milliseconds; containerd's defaults\n" +
			"# are for a node that is not short of CPU.\n[plugins.\"io.containerd.nri.v1.nri\"]\n" + late)
	}
	fmt.Fprintf(&b, "\n[plugins.\"io.containerd.nri.v1.nri\".default_validator]\n  enable = true\n  required_plugins = [%q]\n  tolerate_missing_plugins_annotation = %q\n", Plugin, Annotation)
	return b.String()
}

// IsDropIn reports whether a text is a drop-in file that DropIn has made. It checks only the first
// line.
func IsDropIn(text string) bool {
	first, _, _ := strings.Cut(header, "\n")
	return strings.HasPrefix(text, first+"\n")
}

// Check compares the configurations before and after a change. It returns nil if the new
// configuration requires the agent's NRI plugin, and differs from the earlier one only in the
// settings that DropIn makes and in the list of imported files. Otherwise, the error names the
// settings that are wrong.
func Check(before, after Dump) error {
	allowed := []string{"imports", registrationTimeout, requestTimeout, enable, required, tolerate}
	var others []string
	for _, key := range differences(before, after) {
		if !slices.Contains(allowed, key) {
			others = append(others, fmt.Sprintf("%s (%s, was %s)", key, orNone(after[key]), orNone(before[key])))
		}
	}
	switch {
	case len(others) > 0:
		return fmt.Errorf("more than the required plugins of containerd would change: %s", strings.Join(others, ", "))
	case !after.Requires():
		return fmt.Errorf("containerd would still not require the plugin %s: required_plugins would be %s and enable %s; another file overrides them", Plugin, orNone(after[required]), orNone(after[enable]))
	}
	return nil
}

func orNone(value string) string {
	if value == "" {
		return "unset"
	}
	return value
}
