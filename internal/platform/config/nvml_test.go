package config

import (
	"strings"
	"testing"
)

func TestOwnCDIKind(t *testing.T) {
	for kind, want := range map[string]string{
		"":                                 "",
		"numalet.dev/gpu":                  "numalet.dev/gpu",
		"notnvidia.com/gpu":                "notnvidia.com/gpu",
		"nvidia.com/gpu":                   "",
		"k8s.device-plugin.nvidia.com/gpu": "",
	} {
		cfg, err := LoadNVML(input(t, []string{"--gpu-cdi-kind=" + kind}, nil, ""))
		if got := cfg.OwnCDIKind(); got != want || err != nil {
			t.Errorf("of kind %q it writes %q, %v, want %q", kind, got, err, want)
		}
	}
}

func TestBadCDISettingsAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"--gpu-cdi-kind=gpu": `gpu-cdi-kind "gpu": want domain/name`,
		"--gpu-cdi-kind=numalet.dev/gpu --gpu-cdi-dir=cdi": `gpu-cdi-dir "cdi" is not an absolute path`,
		"--gpu-cdi-hook=nvidia-cdi-hook":                   `gpu-cdi-hook "nvidia-cdi-hook" is not an absolute path`,
	} {
		_, err := LoadNVML(input(t, strings.Fields(args), nil, ""))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", args, err, want)
		}
	}
}
