package config

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// ErrDone means that the program is to exit, because --help, --version or
// --print-config was given, and its output was written.
var ErrDone = errors.New("done")

// Input has the arguments and the environment from which settings are read, and the
// writer for output such as that of --help.
type Input struct {
	Args      []string                    // the arguments without the program's name
	LookupEnv func(string) (string, bool) // os.LookupEnv
	Out       io.Writer
	Version   string // the version that --version prints
}

// LoadAgent returns the validated configuration of cmd/agent, or ErrDone.
func LoadAgent(in Input) (Agent, error) {
	a := defaultAgent()
	if _, err := load("numalet-agent", a.bind, in); err != nil {
		return Agent{}, err
	}
	return a, a.validate()
}

// LoadDevicePlugin returns the validated configuration of cmd/deviceplugin, or
// ErrDone.
func LoadDevicePlugin(in Input) (DevicePlugin, error) {
	d := defaultDevicePlugin()
	if _, err := load("numalet-deviceplugin", d.bind, in); err != nil {
		return DevicePlugin{}, err
	}
	return d, d.validate()
}

// LoadNVML returns the validated configuration of cmd/nvml, or ErrDone.
func LoadNVML(in Input) (NVML, error) {
	n := defaultNVML()
	if _, err := load("numalet-nvml", n.bind, in); err != nil {
		return NVML{}, err
	}
	return n, n.validate()
}

// LoadContainerd returns the validated configuration of cmd/containerd, or ErrDone.
func LoadContainerd(in Input) (Containerd, error) {
	c := defaultContainerd()
	if _, err := load("numalet-containerd", c.bind, in); err != nil {
		return Containerd{}, err
	}
	return c, c.validate()
}

// LoadController returns the validated configuration of cmd/controller, or
// ErrDone.
func LoadController(in Input) (Controller, error) {
	c := defaultController()
	kubescheduler, err := load("numalet-controller", c.bind, in)
	if err != nil {
		return Controller{}, err
	}
	c.Kubescheduler = kubescheduler
	return c, c.validate()
}

// load sets the settings of a program. Flags override the environment, the environment overrides
// the file, and the file overrides the defaults. load reads the flags first, then the environment,
// then the file. Each of these sources sets only the settings that no earlier source has set. load
// returns the KubeSchedulerConfiguration in the file, or nil.
func load(binary string, bind func(*pflag.FlagSet), in Input) (kubescheduler []byte, err error) {
	settings := table(binary, bind)
	flags, actions := withActions(settings)
	flags.SetOutput(in.Out)
	if err := flags.Parse(in.Args); err != nil {
		return nil, parseError(err)
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: settings are given as --name=value (see --help)", flags.Arg(0))
	}
	if actions.version {
		fmt.Fprintln(in.Out, in.Version)
		return nil, ErrDone
	}
	if err := fromEnv(flags, in.LookupEnv); err != nil {
		return nil, err
	}
	if kubescheduler, err = fromFile(settings, actions.file); err != nil {
		return nil, err
	}
	if actions.print {
		return nil, show(settings, in.Out)
	}
	return kubescheduler, nil
}

// show prints the settings for --print-config, even if they are invalid.
func show(settings *pflag.FlagSet, out io.Writer) error {
	text, err := dump(settings)
	if err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	fmt.Fprint(out, text)
	return ErrDone
}

func parseError(err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return ErrDone
	}
	return fmt.Errorf("%w (see --help)", err)
}

// actions are the flags that are not settings, such as --version. They cannot be set in
// the configuration file.
type actions struct {
	file           string
	print, version bool
}

// withActions returns a new flag set with the settings and the actions. The new flag set and the
// given one share the *pflag.Flag values of the settings. So if a flag is set through one flag set,
// it is marked as changed in both. From this mark, the function that reads the file knows which
// settings it must not change.
func withActions(settings *pflag.FlagSet) (*pflag.FlagSet, *actions) {
	var a actions
	all := pflag.NewFlagSet(settings.Name(), pflag.ContinueOnError)
	all.SortFlags = false
	all.AddFlagSet(settings)
	all.StringVar(&a.file, "config", "", "Configuration `file`: YAML with one key per setting. The file may also have a KubeSchedulerConfiguration of kube-scheduler, as its only or its second YAML document. Only numalet-controller reads this document.")
	all.BoolVar(&a.print, "print-config", false, "Print the configuration in the form of the --config file, and exit.")
	all.BoolVar(&a.version, "version", false, "Print the version, and exit.")
	for _, name := range []string{"print-config", "version"} {
		renameEnv(all, name, "")
	}
	return all, &a
}

func table(binary string, bind func(*pflag.FlagSet)) *pflag.FlagSet {
	t := pflag.NewFlagSet(binary, pflag.ContinueOnError)
	t.SortFlags = false
	bind(t)
	return t
}
