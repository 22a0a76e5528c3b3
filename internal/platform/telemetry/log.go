package telemetry

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// LogOptions of NewLogger. The zero value writes V(0) as text.
type LogOptions struct {
	JSON      bool
	Verbosity int // messages of logr's V(n) are written up to this n
}

// NewLogger returns a logger of key-value lines on w.
func NewLogger(w io.Writer, o LogOptions) logr.Logger {
	handler := &slog.HandlerOptions{Level: slog.Level(-o.Verbosity), ReplaceAttr: nameLevel}
	if o.JSON {
		return logr.FromSlogHandler(slog.NewJSONHandler(w, handler))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(w, handler))
}

// nameLevel writes logr's V(2) as "V2", for which slog would write "DEBUG+2".
func nameLevel(groups []string, a slog.Attr) slog.Attr {
	level, ok := a.Value.Any().(slog.Level)
	if len(groups) > 0 || a.Key != slog.LevelKey || !ok || level >= slog.LevelInfo {
		return a
	}
	return slog.String(slog.LevelKey, fmt.Sprintf("V%d", -level))
}
