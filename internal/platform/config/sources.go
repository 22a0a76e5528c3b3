package config

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// envAnnotation is the key of an annotation of a pflag.Flag. The annotation overrides the name of
// the flag's environment variable.
const envAnnotation = "env"

// envName returns the environment variable of a setting, such as NUMALET_RESERVED_CPUS
// for reserved-cpus, or "" if it has none.
func envName(f *pflag.Flag) string {
	if name, ok := f.Annotations[envAnnotation]; ok {
		return name[0]
	}
	return "NUMALET_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

func renameEnv(settings *pflag.FlagSet, flag, env string) {
	f := settings.Lookup(flag)
	f.Annotations = map[string][]string{envAnnotation: {env}}
}

// fromEnv sets settings from environment variables, except for settings that an argument
// has set.
func fromEnv(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := envName(f)
		if name == "" || f.Changed {
			return
		}
		text, ok := lookup(name)
		if !ok {
			return
		}
		if err := flags.Set(f.Name, text); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", name, err))
		}
	})
	return errors.Join(errs...)
}

// fromFile sets settings from a file, except for those that are set already. All programs
// can share one file, so fromFile skips the keys of other programs. Unknown and duplicate
// keys are errors. The file may have two YAML documents: the settings, and a
// KubeSchedulerConfiguration. fromFile returns the latter as text, or nil if the file has
// none.
func fromFile(settings *pflag.FlagSet, path string) (kubescheduler []byte, err error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the file of --config: %w", err)
	}
	documents, set := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))), false
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return kubescheduler, nil
		}
		keys := map[string]any{}
		if err = errors.Join(err, yaml.UnmarshalStrict(document, &keys)); err != nil {
			return nil, fmt.Errorf("parse %s: %w", path, err)
		}
		switch isKubescheduler := keys["kind"] == "KubeSchedulerConfiguration"; {
		case len(keys) == 0:
		case isKubescheduler && kubescheduler != nil, !isKubescheduler && set:
			return nil, fmt.Errorf("%s: want one document with settings and one KubeSchedulerConfiguration at most; put all keys or profiles in one", path)
		case isKubescheduler:
			kubescheduler = document
		default:
			set = true
			if err := setKeys(settings, keys); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
}

func setKeys(settings *pflag.FlagSet, keys map[string]any) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		errs = append(errs, setKey(settings, key, keys[key]))
	}
	return errors.Join(errs...)
}

func setKey(settings *pflag.FlagSet, key string, value any) error {
	f := settings.Lookup(key)
	if f == nil {
		if known(key) {
			return nil
		}
		return fmt.Errorf("unknown key %q: keys are the names of flags without their dashes (see --help)", key)
	}
	if f.Changed {
		return nil
	}
	switch value.(type) {
	case string, bool, int64, float64:
		return settings.Set(key, fmt.Sprint(value))
	}
	return fmt.Errorf("key %q: want one text, number or boolean, got %v", key, value)
}

// known reports whether any of the programs has a setting with this name.
func known(key string) bool {
	a, d, n, c, i := defaultAgent(), defaultDevicePlugin(), defaultNVML(), defaultController(), defaultContainerd()
	return slices.ContainsFunc([]func(*pflag.FlagSet){a.bind, d.bind, n.bind, c.bind, i.bind}, func(bind func(*pflag.FlagSet)) bool {
		return table("", bind).Lookup(key) != nil
	})
}

// dump returns the settings as YAML that fromFile can read.
func dump(settings *pflag.FlagSet) (string, error) {
	values := map[string]string{}
	settings.VisitAll(func(f *pflag.Flag) { values[f.Name] = f.Value.String() })
	text, err := yaml.Marshal(values)
	return string(text), err
}
