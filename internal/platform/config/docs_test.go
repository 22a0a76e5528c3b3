package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

const docs = "../../../docs/reference/flags.md"

// TestReference checks that docs/reference/flags.md describes the settings as they are.
// To write the page again, run: go test ./internal/platform/config -run Reference
// -rewrite
func TestReference(t *testing.T) {
	scenario.Golden(t, docs, reference())
}

const preface = `# Flags

Every setting can be given as a flag, as an environment variable, or as a key of
the YAML file that ` + "`--config`" + ` names; the key is the flag's name. A flag
overrides the environment, which overrides the file, which overrides the
default. All programs can share one file; a key that no program knows is an error.
` + "`--print-config`" + ` prints the settings in force, in the form of this file.

This page is generated from the tables in ` + "`internal/platform/config`" + `; ` + "`make generate`" + ` writes it.
`

func reference() string {
	a, d, n, c, i := defaultAgent(), defaultDevicePlugin(), defaultNVML(), defaultController(), defaultContainerd()
	var shared Shared
	common := table("", shared.bind)
	var b strings.Builder
	b.WriteString(preface)
	section(&b, "numalet-agent and numalet-deviceplugin", table("", a.bind), func(name string) bool { return common.Lookup(name) != nil })
	own := func(name string) bool { return common.Lookup(name) == nil }
	section(&b, "numalet-agent", table("", a.bind), own)
	section(&b, "numalet-deviceplugin", table("", d.bind), own)
	fmt.Fprintf(&b, "\nThe device plugin's default for `--health-addr` is `%s`. The agent and the device plugin run in one\nnetwork namespace, so give each its address as a flag, not in a file that both read.\n", d.HealthAddr)
	section(&b, "numalet-nvml", table("", n.bind), func(string) bool { return true })
	section(&b, "numalet-containerd", table("", i.bind), func(string) bool { return true })
	section(&b, "numalet-controller", table("", c.bind), func(string) bool { return true })
	return b.String()
}

func section(b *strings.Builder, title string, settings *pflag.FlagSet, wanted func(string) bool) {
	fmt.Fprintf(b, "\n## %s\n\n| flag and key | environment | default | meaning |\n|---|---|---|---|\n", title)
	settings.VisitAll(func(f *pflag.Flag) {
		if wanted(f.Name) {
			_, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(b, "| `--%s` | `%s` | %s | %s |\n", f.Name, envName(f), code(f.DefValue), usage)
		}
	})
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
