package containerdconf

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Names of files, relative to the directory of containerd's main file.
const (
	DropInName = "conf.d/numalet.toml"
	// importName matches DropInName only. A pattern that matches nothing is no error for containerd,
	// so that it starts while the file is missing.
	importName = "conf.d/numalet*.toml"
)

// DefaultMain is containerd's main file if its command line names none.
const DefaultMain = "/etc/containerd/config.toml"

// MainFile returns the main file in the command line of a containerd.
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

// Managed returns why the main file of a node is not one to change, or nil. release is the text of
// its /etc/os-release.
func Managed(main, release string) error {
	for line := range strings.SplitSeq(release, "\n") {
		if id, ok := strings.CutPrefix(line, "ID="); ok && unquoted(id) == "bottlerocket" {
			return fmt.Errorf("the node runs Bottlerocket, which writes containerd's configuration at each start and has no setting for required plugins; on these nodes containers can start without the agent")
		}
	}
	for _, kind := range []string{"k3s", "rke2"} {
		if dir := "/var/lib/rancher/" + kind + "/"; strings.HasPrefix(main, dir) {
			return fmt.Errorf("%s writes %s at each start; add the content of deploy/containerd/numalet.toml to its template %sagent/etc/containerd/config-v3.toml.tmpl, and restart %s", kind, main, dir, kind)
		}
	}
	if path.Dir(main) != path.Dir(DefaultMain) {
		return fmt.Errorf("containerd's configuration is %s, and this program changes only files in %s; install deploy/containerd/numalet.toml by hand", main, path.Dir(DefaultMain))
	}
	return nil
}

// imports matches the start of the list of imported files.
var imports = regexp.MustCompile(`(?m)^[ \t]*imports[ \t]*=[ \t]*\[`)

// AddImport returns the text of a main file that also imports the drop-in file. The change is undone
// by RemoveImport. main is the path of the file; text is "" if there is none.
func AddImport(main, text string) string {
	if has(main, text) {
		return text
	}
	if text == "" {
		return alone(main)
	}
	end := len(text)
	if i := strings.Index("\n"+text, "\n["); i >= 0 {
		end = i // of the keys that are in no table
	}
	if at := imports.FindStringIndex(text[:end]); at != nil {
		return text[:at[1]] + entry(main) + text[at[1]:]
	}
	return line(main) + text
}

// RemoveImport returns what AddImport was given, or text if it has not the change of AddImport.
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

// entry, line and alone are the three forms of the import: in a list, with a list of its own, and in
// a file of its own.
func entry(main string) string { return fmt.Sprintf("%q, ", path.Join(path.Dir(main), importName)) }
func line(main string) string {
	return fmt.Sprintf("imports = [%q] # by numalet-containerd\n", path.Join(path.Dir(main), importName))
}
func alone(main string) string { return "version = 3\n" + line(main) }

// Trial returns the text of a main file that imports the given files, in this order. containerd
// prints for it the configuration that these files will make.
func Trial(files ...string) string {
	var b strings.Builder
	b.WriteString("version = 3\nimports = [")
	for i, f := range files {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", f)
	}
	b.WriteString("]\n")
	return b.String()
}
