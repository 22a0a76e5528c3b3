package telemetry

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// LogOptions are the options of NewLogger. With the zero value, the logger writes text. It writes
// errors and messages of level V(0), but no other messages.
type LogOptions struct {
	JSON      bool
	Verbosity int // messages of level V(n) of logr are written if n is at most this number
}

// NewLogger returns a logger that writes lines of keys and values to w.
func NewLogger(w io.Writer, o LogOptions) logr.Logger {
	handler := &slog.HandlerOptions{Level: slog.Level(-o.Verbosity), ReplaceAttr: nameLevel}
	if o.JSON {
		return logr.FromSlogHandler(slog.NewJSONHandler(w, handler))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(w, handler))
}

// nameLevel writes the level V(2) of logr as "V2". Without nameLevel, slog would write
// "DEBUG+2".
func nameLevel(groups []string, a slog.Attr) slog.Attr {
	level, ok := a.Value.Any().(slog.Level)
	if len(groups) > 0 || a.Key != slog.LevelKey || !ok || level >= slog.LevelInfo {
		return a
	}
	return slog.String(slog.LevelKey, fmt.Sprintf("V%d", -level))
}
