// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

var (
	// A link, an image, or a picture in HTML.
	target  = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	fenced  = regexp.MustCompile("(?s)```.*?```")
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// dropped is what GitHub leaves out of a heading when it makes an anchor of it.
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestEveryRelativeLinkOfADocumentLeadsSomewhere(t *testing.T) {
	root := harness.File(t)
	links := 0
	for _, page := range documents(t, root) {
		for _, link := range linksOf(text(t, page)) {
			links++
			if trouble := wrongWith(t, root, page, link); trouble != "" {
				t.Errorf("%s links to %s: %s", page, link, trouble)
			}
		}
	}
	if links == 0 {
		t.Error("there are no links: this test looks at nothing")
	}
}

// documents are the pages of the repository, below its root.
func documents(t *testing.T, root string) (pages []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."): // .git, .cache, .local
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"):
			page, err := filepath.Rel(root, path)
			pages = append(pages, page)
			return err
		default:
			return nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// linksOf are the links of a page that stay in the repository.
func linksOf(page string) (links []string) {
	for _, match := range target.FindAllStringSubmatch(code.ReplaceAllString(page, ""), -1) {
		link := match[1] + match[2]
		if !strings.Contains(link, "://") && !strings.HasPrefix(link, "mailto:") {
			links = append(links, link)
		}
	}
	return links
}

// wrongWith says what is wrong with a link of a page, or nothing.
func wrongWith(t *testing.T, root, page, link string) string {
	t.Helper()
	path, anchor, _ := strings.Cut(link, "#")
	file := page
	if path != "" {
		file = filepath.Join(filepath.Dir(page), path)
	}
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		return "there is no such file"
	}
	if anchor == "" || !strings.HasSuffix(file, ".md") {
		return ""
	}
	if !anchors(text(t, file))[anchor] {
		return "there is no such heading"
	}
	return ""
}

// anchors are those that GitHub makes of the headings of a page.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		plain := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(match[1])), "")
		found[strings.ReplaceAll(plain, " ", "-")] = true
	}
	return found
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "there.md"), []byte("# It is `there`, now\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	page := "[a](there.md) [b](gone.md)\n<img src=\"gone.svg\">\n`[not](a-link.md)` [c](https://example.com)\n```\n[d](none.md)\n```\n"
	var dead []string
	for _, link := range linksOf(page) {
		if wrongWith(t, root, "page.md", link) != "" {
			dead = append(dead, link)
		}
	}
	if got := strings.Join(dead, " "); got != "gone.md gone.svg" {
		t.Errorf("dead links: %s", got)
	}
	if !anchors("# It is `there`, now\n")["it-is-there-now"] {
		t.Error("a heading has no anchor")
	}
}
