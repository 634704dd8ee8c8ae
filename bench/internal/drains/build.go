// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

// build is one of the two builds of Slipway that are compared.
type build struct {
	name      string // base or new
	root, bin string // the directories of the source and of the programs
	manifests []*unstructured.Unstructured
}

// manifestFolders returns the folders with manifests that a testbed may install.
func manifestFolders() []string {
	return []string{"config/crd", "config/rbac", "config/admission", "config/transitions"}
}

// git runs git in a directory, and returns its output.
func git(ctx context.Context, dir string, arguments ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, arguments...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", arguments[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// buildBase builds a revision from a temporary worktree below .cache. The caller removes it.
func buildBase(ctx context.Context, root, revision string, p *testbed.Progress) (b *build, remove func() error, err error) {
	commit, err := git(ctx, root, "rev-parse", "--verify", revision+"^{commit}")
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(root, ".cache", "compare", commit)
	remove = func() error {
		_, err := git(context.WithoutCancel(ctx), root, "worktree", "remove", "--force", dir)
		return errors.Join(err, os.RemoveAll(dir))
	}
	if _, err := os.Stat(dir); err == nil { // an earlier run was killed
		if err := remove(); err != nil {
			return nil, nil, err
		}
	}
	if _, err := git(ctx, root, "worktree", "add", "--detach", dir, commit); err != nil {
		return nil, nil, err
	}
	b = &build{name: "base", root: dir, bin: filepath.Join(dir, "bin")}
	if err := b.make(ctx, p); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return b, remove, nil
}

// make builds Slipway's programs, and reads the manifests.
func (b *build) make(ctx context.Context, p *testbed.Progress) (err error) {
	err = p.During("building "+b.name, func() error {
		command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", b.bin+string(filepath.Separator), "./cmd/...")
		command.Dir = b.root
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", b.name, err, out)
		}
		return nil
	})
	if err == nil {
		b.manifests, err = readManifests(b.root)
	}
	return err
}

// readManifests reads all objects that a testbed may install.
func readManifests(root string) (all []*unstructured.Unstructured, err error) {
	var folders []string
	for _, folder := range manifestFolders() {
		folders = append(folders, filepath.Join(root, folder))
	}
	infos, err := resource.NewLocalBuilder().Unstructured().ContinueOnError().Flatten().
		FilenameParam(false, &resource.FilenameOptions{Filenames: folders, Recursive: true}).Do().Infos()
	for _, info := range infos {
		all = append(all, info.Object.(*unstructured.Unstructured))
	}
	return all, err
}

// id names an object.
func id(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", o.GroupVersionKind(), o.GetNamespace(), o.GetName())
}

// sameManifests reports whether the working tree has the manifests of a commit.
func sameManifests(ctx context.Context, root, commit string) bool {
	_, err := git(ctx, root, append([]string{"diff", "--quiet", commit, "--"}, manifestFolders()...)...)
	return err == nil
}

// install installs a build on a cluster that has another build's manifests. It deletes the objects that only the
// other build has, except CRDs, which this build does not use.
func (b *build) install(ctx context.Context, c *testbed.Cluster, other *build) error {
	if err := c.InstallAll(ctx); err != nil {
		return fmt.Errorf("install the manifests of %s: %w; builds whose kinds cannot be served by one control plane cannot be compared", b.name, err)
	}
	own := map[string]bool{}
	for _, m := range b.manifests {
		own[id(m)] = true
	}
	admin, err := client.New(c.Config("slipway-bench"), client.Options{})
	if err != nil {
		return fmt.Errorf("build the administrator's client: %w", err)
	}
	for _, m := range other.manifests {
		if own[id(m)] || m.GroupVersionKind().Group == apiextensionsv1.GroupName {
			continue
		}
		if err := admin.Delete(ctx, m.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s, which %s does not have: %w", id(m), b.name, err)
		}
	}
	return nil
}
