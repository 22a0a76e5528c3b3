package cli

import (
	"errors"
	"net/url"
	"strings"
)

// server is the URL of a server. It implements pflag.Value.
type server string

func (s *server) String() string { return string(*s) }

// Type returns the word that stands for the flag's value in the help text. It implements
// pflag.Value.
func (s *server) Type() string { return "URL" }

// Set parses the address of a server. The address may lack the scheme, as for curl. Set
// implements pflag.Value.
func (s *server) Set(text string) error {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("want a URL such as " + agentAddress)
	}
	*s = server(text)
	return nil
}
