package scenario

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorder is a fake testing.TB that counts the errors that a test reports.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors++ }

func TestTranscript(t *testing.T) {
	sum := 0
	commands := Commands{
		"add":  func(c *Command) { sum += c.Int(0) * c.IntValue("times", 1) },
		"show": func(c *Command) { c.Line("%d of %v", sum, c.Args()) },
		"fail": func(c *Command) { c.Error(fmt.Errorf("no %s", c.Value("what"))) },
	}
	for name, tc := range map[string]struct {
		text, want string
		errors     int
	}{
		"answers of now take the place of old ones": {
			text: "# A remark.\n> add 2 times=3\n> show a b=c\nold\n",
			want: "# A remark.\n> add 2 times=3\n> show a b=c\n6 of [a]\n",
		},
		"an empty line after a command without an answer is kept": {
			text: "> add 1\n\n> add 1\n> add 1\n# A remark.\n> show\n> show\n",
			want: "> add 1\n\n> add 1\n> add 1\n# A remark.\n> show\n3 of []\n\n> show\n3 of []\n",
		},
		"an error of a command is an answer": {
			text: "> fail what=room\n",
			want: "> fail what=room\nno room\n",
		},
		"what cannot be read fails": {
			text: "> ad 1\n> add\n> add x\n> add 1 times=x\n",
			want: "> ad 1\nerror: no such command\n\n> add\nerror: argument 0 is missing\n\n" +
				"> add x\nerror: strconv.Atoi: parsing \"x\": invalid syntax\n\n> add 1 times=x\nerror: strconv.Atoi: parsing \"x\": invalid syntax\n",
			errors: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sum = 0
			r := &recorder{TB: t}
			if diff := cmp.Diff(tc.want, transcript(r, tc.text, commands, &Answer{})); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
			if r.errors != tc.errors {
				t.Errorf("%d errors, want %d", r.errors, tc.errors)
			}
		})
	}
}
