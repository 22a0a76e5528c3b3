package config

import (
	"strings"
	"testing"
)

func TestBadSettingsOfContainerdAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"--node-name=":                       "node-name is empty",
		"--node-name=a":                      "",
		"--node-name=a --agent=:8123":        `agent ":8123" is not a URL`,
		"--node-name=a --start-first=a=b=c":  `start-first "a=b=c" is not a label selector`,
		"--node-name=a --restart-timeout=1":  `invalid argument "1"`,
		"--node-name=a --restart-timeout=1s": "restart-timeout 1s is below 10s",
		"--node-name=a --host-root=host":     `host-root "host" is not an absolute path`,
	} {
		_, err := LoadContainerd(input(t, strings.Fields(args), nil, ""))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want one with %q", args, err, want)
		}
	}
}
