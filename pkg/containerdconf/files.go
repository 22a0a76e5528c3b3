package containerdconf

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Names of files, relative to the directory of containerd's main configuration file.
const (
	DropInName = "conf.d/numalet.toml"
	// importName is a pattern that matches DropInName. containerd's main file imports the pattern
	// and not the file. The reason is that containerd does not start if an imported file is
	// missing, but accepts a pattern that matches no file.
	importName = "conf.d/numalet*.toml"
)

// DefaultMain is containerd's main configuration file if its command line does not name one.
const DefaultMain = "/etc/containerd/config.toml"

// K3sDropIn is the file by which an administrator can make the containerd of k3s require the agent.
// RKE2DropIn is the same file of RKE2, where it must not exist.
const (
	K3sDropIn  = "/var/lib/rancher/k3s/agent/etc/containerd/config-v3.toml.d/numalet.toml"
	RKE2DropIn = "/var/lib/rancher/rke2/agent/etc/containerd/config-v3.toml.d/numalet.toml"
)

// MainFile returns the path of the main configuration file of a containerd that was started with
// the given command line.
func MainFile(command []string) string {
	for i, arg := range command {
		for _, flag := range []string{"--config", "-config", "-c", "--c"} {
			if arg == flag && i+1 < len(command) {
				return command[i+1]
			}
			if value, ok := strings.CutPrefix(arg, flag+"="); ok {
				return value
			}
		}
	}
	return DefaultMain
}

// Managed returns an error if the node's main configuration file must not be changed, for example
// because other software writes it. The parameter `main` is the path of this file, and `release` is
// the text of the node's /etc/os-release.
func Managed(main, release string) error {
	for line := range strings.SplitSeq(release, "\n") {
		if id, ok := strings.CutPrefix(line, "ID="); ok && unquoted(id) == "bottlerocket" {
			return fmt.Errorf("the node runs Bottlerocket, which writes containerd's configuration at each start and has no setting for required plugins; on these nodes containers can start without the agent")
		}
	}
	switch {
	case strings.HasPrefix(main, "/var/lib/rancher/k3s/"):
		return fmt.Errorf("k3s writes %s at each start; to require the agent, install deploy/containerd/numalet.toml as %s, and to undo this, delete that file, each time with a restart of k3s (deploy/containerd/README.md, k3s)", main, K3sDropIn)
	case strings.HasPrefix(main, "/var/lib/rancher/rke2/"):
		return fmt.Errorf("the node runs RKE2, whose static pods cannot have the annotation with which they would start before the agent, so its containerd must not require the agent; if it does, delete %s, and restart RKE2", RKE2DropIn)
	}
	if path.Dir(main) != path.Dir(DefaultMain) {
		return fmt.Errorf("containerd's configuration is %s, and numalet-containerd changes only files in %s; install deploy/containerd/numalet.toml by hand", main, path.Dir(DefaultMain))
	}
	return nil
}

// defaultVersion is the version of the files that this package makes if the main configuration file
// has no version. All versions of containerd that can require NRI plugins read this version.
const defaultVersion = 3

var (
	versionKey = regexp.MustCompile(`(?m)^[ \t]*["']?version["']?[ \t]*=[ \t]*(\d+)`)
	firstTable = regexp.MustCompile(`(?m)^[ \t]*\[`)
)

// Version returns the version of the format of containerd's main configuration file, from the
// file's text. If the text has no version, Version returns defaultVersion.
func Version(text string) int {
	if at := firstTable.FindStringIndex(text); at != nil {
		text = text[:at[0]] // a key after the start of a table belongs to the table
	}
	if found := versionKey.FindStringSubmatch(text); found != nil {
		if version, err := strconv.Atoi(found[1]); err == nil {
			return version
		}
	}
	return defaultVersion
}

// imports matches the start of the list of imported files in containerd's main configuration file.
var imports = regexp.MustCompile(`(?m)^[ \t]*imports[ \t]*=[ \t]*\[`)

// AddImport returns the text of containerd's main configuration file, changed so that it also
// imports Numalet's drop-in file. RemoveImport undoes the change. The parameter `main` is the path
// of the main configuration file. The parameter `text` is its content, or "" if the file does not
// exist.
func AddImport(main, text string) string {
	if has(main, text) {
		return text
	}
	if text == "" {
		return alone(main)
	}
	end := len(text)
	if i := strings.Index("\n"+text, "\n["); i >= 0 {
		end = i // the keys that are in no table end at the first table
	}
	if at := imports.FindStringIndex(text[:end]); at != nil {
		return text[:at[1]] + entry(main) + text[at[1]:]
	}
	return line(main) + text
}

// RemoveImport undoes the change that AddImport made to the text of containerd's main configuration
// file. If AddImport has not changed the text, RemoveImport returns it unchanged.
func RemoveImport(main, text string) string {
	switch {
	case text == alone(main):
		return ""
	case strings.HasPrefix(text, line(main)):
		return strings.TrimPrefix(text, line(main))
	}
	return strings.Replace(text, entry(main), "", 1)
}

func has(main, text string) bool { return RemoveImport(main, text) != text }

// The next three functions return the texts that AddImport adds. If the main configuration file has
// a list of imports, AddImport adds the result of `entry` to this list. If it has no such list,
// AddImport adds the result of `line`, which is a list of imports. If the file did not exist, the
// result of `alone` is its whole text.
func entry(main string) string { return fmt.Sprintf("%q, ", path.Join(path.Dir(main), importName)) }
func line(main string) string {
	return fmt.Sprintf("imports = [%q] # by numalet-containerd\n", path.Join(path.Dir(main), importName))
}
func alone(main string) string { return fmt.Sprintf("version = %d\n", defaultVersion) + line(main) }

// Trial returns the text of a main configuration file that imports the given files, in this order.
// If containerd gets this text as its main configuration file, `containerd config dump` prints the
// configuration that results from the given files. The version must be that of the real main
// configuration file, because no imported file may have a higher version.
func Trial(version int, files ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version = %d\nimports = [", version)
	for i, f := range files {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", f)
	}
	b.WriteString("]\n")
	return b.String()
}
