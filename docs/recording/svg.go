// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// Sizes in pixels. The font is whatever fixed one the reader has: every run is put at its
// column and stretched to its width, so that they all look alike.
const (
	cellWidth  = 8.4
	cellHeight = 19
	fontSize   = 14
	margin     = 16
)

const styleSheet = `text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dce2;white-space:pre}
.strong{font-weight:700;fill:#fff}
.good{fill:#6ad28a}
.warn{fill:#f0c05a}
.bad{fill:#ff7b72}
.faint{fill:#8b949e}
.f{visibility:hidden;animation:%.2fs step-end infinite}
`

// draw is the recording as an SVG that plays by itself, over and over, without a script.
func draw(frames []frame, columns, rows int, title string) string {
	width, height := float64(columns)*cellWidth+2*margin, rows*cellHeight+2*margin
	var total time.Duration
	for _, f := range frames {
		total += f.stands
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" role="img" aria-label="%s">`+"\n",
		width, height, escape(title))
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n", escape(title))
	fmt.Fprintf(&b, styleSheet, fontSize, total.Seconds())
	times(&b, frames, total)
	b.WriteString("</style>\n<defs>\n")
	names := define(&b, frames)
	fmt.Fprintf(&b, "</defs>\n"+`<rect width="%.0f" height="%d" rx="8" fill="#14181d"/>`+"\n", width, height)
	for i, f := range frames {
		fmt.Fprintf(&b, `<g class="f" id="f%d">`, i)
		for y, r := range f.screen.rows {
			if name, ok := names[markup(r)]; ok {
				fmt.Fprintf(&b, `<use href="#%s" y="%d"/>`, name, y*cellHeight)
			}
		}
		if f.screen.shown {
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#d7dce2" opacity=".6"/>`,
				margin+float64(f.screen.cursor.column)*cellWidth, margin+f.screen.cursor.row*cellHeight, cellWidth, cellHeight)
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// times says when each frame is seen. Who wants no motion, and who prints, sees the last.
func times(b *strings.Builder, frames []frame, total time.Duration) {
	percent := func(d time.Duration) float64 { return 100 * d.Seconds() / total.Seconds() }
	var begins time.Duration
	for i, f := range frames {
		ends := begins + f.stands
		fmt.Fprintf(b, "#f%d{animation-name:k%d}@keyframes k%d{", i, i, i)
		if i > 0 {
			fmt.Fprint(b, "0%{visibility:hidden}")
		}
		fmt.Fprintf(b, "%.3f%%{visibility:visible}", percent(begins))
		if i < len(frames)-1 {
			fmt.Fprintf(b, "%.3f%%{visibility:hidden}", percent(ends))
		}
		fmt.Fprint(b, "}\n")
		begins = ends
	}
	fmt.Fprintf(b, "@media (prefers-reduced-motion:reduce),print{.f{animation:none}#f%d{visibility:visible}}\n", len(frames)-1)
}

// define defines every row once, however often it is seen, and returns the names by what
// was defined.
func define(b *strings.Builder, frames []frame) map[string]string {
	names := map[string]string{}
	for _, f := range frames {
		for _, r := range f.screen.rows {
			text := markup(r)
			if _, ok := names[text]; ok || text == "" {
				continue
			}
			names[text] = fmt.Sprintf("r%d", len(names))
			fmt.Fprintf(b, `<g id="%s">%s</g>`+"\n", names[text], text)
		}
	}
	return names
}

func markup(r row) string {
	var b strings.Builder
	for _, part := range r {
		text := strings.TrimLeft(part.text, " ")
		if text == "" {
			continue
		}
		skipped := len([]rune(part.text)) - len([]rune(text))
		text = strings.TrimRight(text, " ")
		class := ""
		if part.class != "" {
			class = fmt.Sprintf(` class="%s"`, part.class)
		}
		fmt.Fprintf(&b, `<text%s x="%.1f" y="%d" textLength="%.1f">%s</text>`, class,
			margin+float64(part.column+skipped)*cellWidth, margin+cellHeight-5,
			float64(len([]rune(text)))*cellWidth, escape(text))
	}
	return b.String()
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}
