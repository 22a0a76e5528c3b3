// Command browser tests the page of "numalet ui" in headless Chromium, in light and dark mode. It
// operates the page with the keyboard only, and writes screenshots. It fails if axe-core
// (https://github.com/dequelabs/axe-core) finds a violation of accessibility rules, if a script of
// the page fails, or if the content security policy blocks something.
//
//	browser -url http://127.0.0.1:PORT/?token=… -axe axe.min.js -out DIR
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// limit is the maximum duration of a run, without the start of Chromium.
const limit = 3 * time.Minute

func main() {
	url := flag.String("url", "", "address that numalet ui printed")
	axe := flag.String("axe", "", "file axe.min.js")
	out := flag.String("out", ".", "directory of the screenshots")
	prefix := flag.String("prefix", "ui", "first part of the screenshots' names")
	flag.Parse()
	if err := run(*url, *axe, filepath.Join(*out, *prefix)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(url, axeFile, shots string) error {
	axe, err := os.ReadFile(axeFile)
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	browser, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	tab, closeTab := chromedp.NewContext(browser)
	defer closeTab()
	v := &visit{axe: string(axe), shots: shots}
	if err := chromedp.Do(tab); err != nil { // starts the browser with a context without a timeout, because chromedp stops the browser when the context with which it was started ends
		return fmt.Errorf("start Chromium: %w", err)
	}
	go v.listen(tab)
	ctx, cancel := context.WithTimeout(tab, limit)
	defer cancel()
	for _, scheme := range []string{"light", "dark"} {
		if err := v.look(ctx, url, scheme); err != nil {
			return fmt.Errorf("%s mode: %w", scheme, err)
		}
	}
	return v.report()
}

// visit is the test of the page of "numalet ui" in one browser tab.
type visit struct {
	axe, shots string
	nodes      int
	longest    float64 // longest task that blocked the page's main thread, in milliseconds
	mu         struct {
		sync.Mutex
		problems []string
	}
}

func (v *visit) problem(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.problems = append(v.mu.problems, fmt.Sprintf(format, args...))
}

// listen records errors that the page writes to the console: errors of scripts, and what the
// content security policy has blocked.
func (v *visit) listen(tab context.Context) {
	for m, err := range chromedp.Console(tab) {
		if err != nil {
			return // the tab is closed
		}
		if m.IsException() || m.Type == "error" {
			v.problem("console: %s", m)
		}
	}
}

// look opens the page and waits for its data. With the keyboard, it opens and closes the map of the
// first node, and then opens the section of the tenants. The map is a picture of the node's CPUs
// and GPUs. The method `look` calls the method `check` for the page, the map and this section.
func (v *visit) look(ctx context.Context, url, scheme string) error {
	feature := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, feature); err != nil {
		return err
	}
	return errors.Join(v.open(ctx, url, scheme), v.openMap(ctx, scheme), v.closeMap(ctx), v.openTenants(ctx, scheme), v.measure(ctx))
}

// longTasks is a script for the page. It stores the duration of the longest task of the page's main
// thread in the variable window.longest.
const longTasks = `window.longest = 0;
new PerformanceObserver(l => { for (const e of l.getEntries()) window.longest = Math.max(window.longest, e.duration) }).observe({type: 'longtask', buffered: true});`

func (v *visit) open(ctx context.Context, url, scheme string) error {
	err := chromedp.Do(ctx, chromedp.Navigate(url))
	if err == nil {
		_, err = chromedp.Run(ctx, chromedp.Evaluate[any](longTasks+"0"))
	}
	if err == nil {
		_, err = chromedp.Run(ctx, chromedp.Poll[bool](`document.getElementById('updated').textContent.startsWith('Updated')`))
	}
	if err != nil {
		return fmt.Errorf("open the page: %w", err)
	}
	return v.check(ctx, scheme)
}

func (v *visit) openMap(ctx context.Context, scheme string) error {
	err := chromedp.Do(ctx, chromedp.Focus("#grid button"), chromedp.KeyEvent(kb.Enter))
	if err == nil {
		_, err = chromedp.Run(ctx, chromedp.Poll[bool](`document.getElementById('map').naturalWidth > 0 && document.activeElement.id == 'node-title'`))
	}
	if err != nil {
		return fmt.Errorf("open the map of a node: %w", err)
	}
	return v.check(ctx, scheme+"-node")
}

// closeMap closes the map, and checks that the keyboard focus returns to the list of nodes.
func (v *visit) closeMap(ctx context.Context) error {
	err := chromedp.Do(ctx, chromedp.Focus("#close"), chromedp.KeyEvent(kb.Enter))
	if err != nil {
		return fmt.Errorf("close the map: %w", err)
	}
	at, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.activeElement.closest('#grid') ? 'grid' : document.activeElement.outerHTML`))
	if err == nil && at != "grid" {
		v.problem("after the map was closed, the focus is on %s instead of the node", at)
	}
	return err
}

// shown is a script for the page. It reports whether three things are true: some CPUs of a node are
// drawn as exclusive, each table has a row of data, and the chart has a line of the first tenant. A
// table without data has a row with only one cell.
const shown = `[...document.querySelectorAll('#grid .exclusive')].some(e => e.offsetWidth > 0) &&
['queue', 'tenants', 'groups'].every(table => document.querySelector('#' + table + '-rows td + td')) &&
[...document.querySelectorAll('#chart canvas')].some(c => {
	const {data} = c.getContext('2d').getImageData(0, 0, c.width, c.height)
	for (let i = 0; i < data.length; i += 4) if (data[i] == 0x0a && data[i + 1] == 0x7e && data[i + 2] == 0xa4) return true
})`

// openTenants opens the section of the tenants, and waits until the whole page shows data.
func (v *visit) openTenants(ctx context.Context, scheme string) error {
	err := chromedp.Do(ctx, chromedp.Focus(`nav a[href="#tenants"]`), chromedp.KeyEvent(kb.Enter))
	if err == nil {
		_, err = chromedp.Run(ctx, chromedp.Poll[bool](shown))
	}
	if err != nil {
		return fmt.Errorf("wait until the queue, the tenants' scores and the GPU groups are shown: %w", err)
	}
	return v.check(ctx, scheme+"-tenants")
}

// measure waits 12 seconds, in which the page reads its data twice more. Then it reads the duration
// of the longest task that blocked the page's main thread.
func (v *visit) measure(ctx context.Context) error {
	if err := chromedp.Do(ctx, chromedp.Sleep(12*time.Second)); err != nil {
		return err
	}
	nodes, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.querySelectorAll('#grid li').length`))
	if err != nil {
		return err
	}
	longest, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`window.longest`))
	v.nodes, v.longest = nodes, max(v.longest, longest)
	return err
}

// finding is a violation that axe-core found.
type finding struct{ ID, Help, Example string }

// check takes a screenshot, and runs axe-core on the page. The page cannot load the script of
// axe-core, because the page's content security policy allows only the page's own scripts. So check
// runs this script through the debugger.
func (v *visit) check(ctx context.Context, name string) error {
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("take screenshot: %w", err)
	}
	if err := os.WriteFile(v.shots+"-"+name+".png", png, 0o644); err != nil {
		return err
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](v.axe+"; 0")); err != nil {
		return fmt.Errorf("load axe-core: %w", err)
	}
	// The elements of all nodes are alike, and axe-core would take a minute to check a thousand of
	// them. So this script checks only the elements of the first 49 nodes.
	const axe = `axe.run({exclude: ['#grid li:nth-child(n+50)']}).then(r => r.violations.map(v => ({ID: v.id, Help: v.help, Example: v.nodes[0].html})))`
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]finding](axe, chromedp.EvalAwaitPromise))
	if err != nil {
		return fmt.Errorf("run axe-core: %w", err)
	}
	for _, f := range found {
		v.problem("%s: %s: %s, such as %s", name, f.ID, f.Help, f.Example)
	}
	return nil
}

func (v *visit) report() error {
	if v.nodes == 0 {
		v.problem("the page shows no node")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Printf("%d nodes, light and dark, with the keyboard; longest task %.0f ms; %d problems\n", v.nodes, v.longest, len(v.mu.problems))
	if len(v.mu.problems) > 0 {
		return errors.New(strings.Join(v.mu.problems, "\n"))
	}
	return nil
}
