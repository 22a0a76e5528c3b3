package telemetry

import (
	"fmt"
	"runtime/debug"
)

// Version returns what the Go tool recorded about this build: the module's
// version, the commit and whether its tree was dirty.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return describe(info)
}

func describe(info *debug.BuildInfo) string {
	version, commit, dirty := info.Main.Version, "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", modified"
		}
	}
	if version == "" {
		version = "(devel)"
	}
	if commit == "" {
		return fmt.Sprintf("%s %s", version, info.GoVersion)
	}
	return fmt.Sprintf("%s commit %.12s%s %s", version, commit, dirty, info.GoVersion)
}
