package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDimensions(t *testing.T) {
	for text, want := range map[string]string{
		"cpu/100,memory": "cpu/100,memory", "gpus:H200, numa-spread/4": "gpus:H200,numa-spread/4",
		"example.com/nic,example.com/nic/2": "example.com/nic,example.com/nic/2",
		"cpu/0":                             "must be greater than 0", "speed": "parse dimension",
	} {
		var d Dimensions
		got := ""
		if err := d.UnmarshalText([]byte(text)); err != nil {
			got = err.Error()
		} else if back, err := d.MarshalText(); err == nil {
			got = string(back)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q reads as %q, want %q", text, got, want)
		}
	}
}

func TestController(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string // part of the error; "" for none
	}{
		"defaults":          {nil, ""},
		"another policy":    {[]string{"--policy=bestfit", "--dimensions=memory,cpu/1000"}, ""},
		"no binder":         {[]string{"--binders=0"}, "binders is 0"},
		"half a second":     {[]string{"--lease-duration=2500ms"}, "whole seconds"},
		"nobody's pods":     {[]string{"--scheduler-name="}, "scheduler-name is empty"},
		"half-life":         {[]string{"--score-half-life=29h"}, ""},
		"no half-life":      {[]string{"--score-half-life=0s"}, "0s: want more than 0"},
		"no settling":       {[]string{"--score-time-constant=0s"}, "score-time-constant is 0: must be greater than 0"},
		"settled before":    {[]string{"--score-time-constant=-1h"}, "must be greater than 0"},
		"no GPUs":           {[]string{"--gpu-resource="}, "gpu-resource is empty"},
		"no policy so name": {[]string{"--policy=worstfit"}, "worstfit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadController(input(t, tc.args, nil, "cpu-request-form: policy\n"))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if got, err := defaultController().Dimensions.MarshalText(); err != nil || cmp.Diff("cpu/100,memory/134217728,pods,numa-total,nvidia.com/gpu", string(got)) != "" {
		t.Errorf("default dimensions %s, %v", got, err)
	}
}
