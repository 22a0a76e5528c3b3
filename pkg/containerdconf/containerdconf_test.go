package containerdconf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestReferenceDropIn checks that deploy/containerd/numalet.toml, the drop-in file that users
// install by hand, equals the text that DropIn makes for containerd's default configuration.
func TestReferenceDropIn(t *testing.T) {
	text, err := DropIn(defaults(t), 3)
	if err != nil {
		t.Fatal(err)
	}
	if !IsDropIn(text) {
		t.Error("the program does not recognize its own file")
	}
	scenario.Golden(t, "../../deploy/containerd/numalet.toml", text)
}

// TestDropInVersion checks that the drop-in file has the version of the main configuration file, but
// at most 3.
func TestDropInVersion(t *testing.T) {
	for version, want := range map[int]string{2: "version = 2", 3: "version = 3", 4: "version = 3"} {
		text, err := DropIn(defaults(t), version)
		if err != nil || !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("main file of version %d: error %v, text %q, want %q", version, err, text, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]int{
		"":                                   3,
		"version = 2\n":                      2,
		"version = 3\r\nimports = []\r\n":    3,
		"# version = 2\n  version=4 # new\n": 4,
		"imports = [\n  \"a\",\n]\nversion = 2\n\n[plugins]\n  version = 9\n": 2,
		"[plugins]\nversion = 2\n":         3,
		"min_version = 2\n":                3,
		"'version' = 2\n":                  2,
		"version = 99999999999999999999\n": 3,
	} {
		if got := Version(text); got != want {
			t.Errorf("%q: version %d, want %d", text, got, want)
		}
	}
	if got, want := Trial(2, "/a", "/b"), "version = 2\nimports = [\"/a\", \"/b\"]\n"; got != want {
		t.Errorf("trial %q, want %q", got, want)
	}
}

// defaults returns the configuration that containerd 2.4.2 prints if it has no configuration file.
// The arguments given as `replace` are pairs of texts. The function replaces the first text of each
// pair by the second one.
func defaults(t *testing.T, replace ...string) Dump {
	t.Helper()
	text, err := os.ReadFile("testdata/default-2.4.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("the default configuration has no %q", replace[i])
		}
	}
	d, err := ReadDump(strings.NewReplacer(replace...).Replace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDropInIsRefused(t *testing.T) {
	validator := defaults(t)
	for name, tc := range map[string]struct {
		replace []string
		want    string // part of the error; "" if DropIn accepts the configuration
	}{
		"defaults":              {nil, ""},
		"the validator is on":   {[]string{"enable = false", "enable = true", "reject_oci_hook_adjustment = false", "reject_oci_hook_adjustment = true"}, ""},
		"our annotation":        {[]string{"annotation = ''", "annotation = '" + Annotation + "'"}, ""},
		"containerd 2.0":        {[]string{"required_plugins = []\n      tolerate_missing_plugins_annotation = ''", ""}, "upgrade it to 2.2 or later"},
		"containerd 1.6":        {[]string{"io.containerd.nri.v1.nri", "io.containerd.other"}, "upgrade it to 2.2 or later"},
		"NRI is disabled":       {[]string{"disable = false\n    socket_path", "disable = true\n    socket_path"}, "NRI is disabled"},
		"CRI is disabled":       {[]string{"disabled_plugins = []", "disabled_plugins = ['cri']"}, `"cri" in disabled_plugins; remove it`},
		"others are required":   {[]string{"required_plugins = []\n      tol", "required_plugins = ['other']\n      tol"}, `required_plugins = ['other'], and a drop-in file would replace the list; add "numalet"`},
		"another annotation":    {[]string{"annotation = ''", "annotation = 'example.com/skip'"}, "so set that one"},
		"a rule that is not on": {[]string{"reject_sysctl_adjustment = false", "reject_sysctl_adjustment = true"}, "reject_sysctl_adjustment is true, which would come into force"},
	} {
		t.Run(name, func(t *testing.T) {
			d := defaults(t, tc.replace...)
			if tc.replace != nil && cmp.Equal(d, validator) {
				t.Fatal("the case changes nothing")
			}
			_, err := DropIn(d, 3)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestTimeoutsAreOnlyRaised checks that DropIn does not lower a timeout that is longer than the
// minimum.
func TestTimeoutsAreOnlyRaised(t *testing.T) {
	for now, want := range map[string][]string{
		"'2s'":  {`plugin_registration_timeout = "30s"`, `plugin_request_timeout = "20s"`},
		"'20s'": {`plugin_registration_timeout = "30s"`},
		"'1m'":  {`plugin_registration_timeout = "30s"`},
	} {
		text, err := DropIn(defaults(t, "plugin_request_timeout = '2s'", "plugin_request_timeout = "+now), 3)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.SplitSeq(text, "\n") {
			if strings.Contains(line, "_timeout =") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %s (-want +got):\n%s", now, diff)
		}
	}
}

func TestCheck(t *testing.T) {
	on := []string{"enable = false", "enable = true", "required_plugins = []\n      tol", "required_plugins = ['numalet']\n      tol", "annotation = ''", "annotation = '" + Annotation + "'"}
	for name, tc := range map[string]struct {
		after []string
		want  string
	}{
		"as wanted":        {on, ""},
		"more imports":     {append([]string{"conf.d/*.toml']", "conf.d/*.toml', '/x']"}, on...), ""},
		"nothing":          {nil, "would still not require the plugin numalet"},
		"overridden":       {[]string{"enable = false", "enable = true"}, "required_plugins would be [] and enable true"},
		"a value besides":  {append([]string{"SystemdCgroup = false", "SystemdCgroup = true"}, on...), "options.SystemdCgroup (true, was false)"},
		"a key is missing": {append([]string{"    socket_path = '/var/run/nri/nri.sock'\n", ""}, on...), "socket_path (unset, was '/var/run/nri/nri.sock')"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(defaults(t), defaults(t, tc.after...))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestReadDump(t *testing.T) {
	got, err := ReadDump("version = 3\nimports = [\n  'a',\n  ['b'],\n]\n\n[plugins]\n  [plugins.'x.y']\n    a = ''\n\n[[hook]]\n  a = 1\n[[hook]]\n  a = 2\n")
	want := Dump{"version": "3", "imports": "[\n'a',\n['b'],\n]", "plugins.'x.y'.a": "''", "hook[0].a": "1", "hook[1].a": "2"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"containerd: no such command": "line 1 of containerd's configuration",
		"a = 1\na = 2\n":              "line 2 of containerd's configuration has a a second time",
	} {
		if _, err := ReadDump(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestImport checks what AddImport adds to each main configuration file in testdata/main, that a
// second call of AddImport adds nothing, and that RemoveImport restores the earlier text.
func TestImport(t *testing.T) {
	files, err := filepath.Glob("testdata/main/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	got := map[string]string{"": AddImport(DefaultMain, "")}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before := string(text)
		after := AddImport(DefaultMain, before)
		if AddImport(DefaultMain, after) != after {
			t.Errorf("%s: a second import is added", file)
		}
		if back := RemoveImport(DefaultMain, after); back != before {
			t.Errorf("%s: taken back (-want +got):\n%s", file, cmp.Diff(before, back))
		}
		if RemoveImport(DefaultMain, before) != before {
			t.Errorf("%s: something is removed that was not added", file)
		}
		got[filepath.Base(file)] = added(before, after)
	}
	want := map[string]string{
		"":                 "version = 3\nimports = [\"/etc/containerd/conf.d/numalet*.toml\"] # by numalet-containerd\n",
		"debian-12.toml":   "imports = [\"/etc/containerd/conf.d/numalet*.toml\"] # by numalet-containerd",
		"kubeadm.toml":     `imports = ["/etc/containerd/conf.d/numalet*.toml", ]`,
		"nri.toml":         `imports = ["/etc/containerd/conf.d/numalet*.toml", `,
		"crlf.toml":        "imports = [\"/etc/containerd/conf.d/numalet*.toml\", \"/etc/containerd/site.d/*.toml\"]\r",
		"default-2.4.toml": `imports = ["/etc/containerd/conf.d/numalet*.toml", '/etc/containerd/conf.d/*.toml']`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines that changed (-want +got):\n%s", diff)
	}
	if back := RemoveImport(DefaultMain, got[""]); back != "" {
		t.Errorf("of a file of its own, %q is left", back)
	}
}

// added returns the first line that is in the text given as `after` and not in the text given as
// `before`. If there is no such line, it returns "".
func added(before, after string) string {
	for line := range strings.SplitSeq(after, "\n") {
		if !strings.Contains("\n"+before, "\n"+line+"\n") {
			return line
		}
	}
	return ""
}

func TestMainFile(t *testing.T) {
	for command, want := range map[string]string{
		"containerd":                                   DefaultMain,
		"/usr/bin/containerd -c /x.toml":               "/x.toml",
		"containerd --log-level info --config=/y.toml": "/y.toml",
		"containerd --config":                          DefaultMain,
	} {
		if got := MainFile(strings.Fields(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

func TestManaged(t *testing.T) {
	for _, tc := range []struct{ main, release, want string }{
		{DefaultMain, "ID=debian\nVERSION_ID=\"12\"\n", ""},
		{DefaultMain, "NAME=Bottlerocket\nID=bottlerocket\n", "the node runs Bottlerocket"},
		{"/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "", "as " + K3sDropIn + ", and to undo this"},
		{"/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "", "the node runs RKE2"},
		{"/opt/containerd.toml", "", "changes only files in /etc/containerd"},
	} {
		err := Managed(tc.main, tc.release)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s on %q: error %v, want %q", tc.main, tc.release, err, tc.want)
		}
	}
}
