// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

// build is one of the two builds of Slipway that are compared.
type build struct {
	name      string // base or new
	root, bin string // the directory of the source, and that of the programs
	manifests []manifest
}

// manifest is an object in a folder of config/.
type manifest struct {
	folder string
	object *unstructured.Unstructured
}

// git runs git in a directory, and returns what it prints.
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
		b.manifests, err = readManifests(filepath.Join(b.root, "config"))
	}
	return err
}

// readManifests reads all objects in the folders of config/ that a testbed may install.
func readManifests(config string) (all []manifest, err error) {
	for _, folder := range []string{"crd", "rbac", "admission", "transitions"} {
		err := filepath.WalkDir(filepath.Join(config, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for document := range strings.SplitSeq("\n"+string(text), "\n---") {
				o := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
					return fmt.Errorf("read %s: %w", path, err)
				}
				if len(o.Object) > 0 {
					all = append(all, manifest{filepath.Dir(path)[len(config):], o})
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// id names the object.
func (m manifest) id() string {
	return fmt.Sprintf("%s %s/%s", m.object.GroupVersionKind(), m.object.GetNamespace(), m.object.GetName())
}

// byID returns manifests by folder and object. Descriptions in CRDs are left out: they change nothing.
func byID(manifests []manifest) map[string]any {
	all := map[string]any{}
	for _, m := range manifests {
		object := m.object.DeepCopy().Object
		if m.object.GetKind() == "CustomResourceDefinition" {
			removeDescriptions(object)
		}
		all[m.folder+" "+m.id()] = object
	}
	return all
}

// removeDescriptions removes the descriptions of a schema: those that are texts. A property may
// have that name, too.
func removeDescriptions(value any) {
	switch v := value.(type) {
	case map[string]any:
		if _, isText := v["description"].(string); isText {
			delete(v, "description")
		}
		for _, child := range v {
			removeDescriptions(child)
		}
	case []any:
		for _, child := range v {
			removeDescriptions(child)
		}
	}
}

// sameManifests says whether two builds are installed in the same way.
func sameManifests(a, b *build) bool { return reflect.DeepEqual(byID(a.manifests), byID(b.manifests)) }

// install installs a build on a cluster that has another build's manifests. Objects that only the
// other build has are deleted, except CRDs, which serve nothing that this build asks for.
func (b *build) install(ctx context.Context, c *testbed.Cluster, other *build) error {
	if err := c.InstallAll(ctx); err != nil {
		return fmt.Errorf("install the manifests of %s: %w; builds whose kinds cannot be served by one control plane cannot be compared", b.name, err)
	}
	own := map[string]bool{}
	for _, m := range b.manifests {
		own[m.id()] = true
	}
	admin, err := client.New(c.Config("slipway-bench"), client.Options{})
	if err != nil {
		return fmt.Errorf("build the administrator's client: %w", err)
	}
	for _, m := range other.manifests {
		if own[m.id()] || m.object.GroupVersionKind().Group == apiextensionsv1.GroupName {
			continue
		}
		if err := admin.Delete(ctx, m.object.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s, which %s does not have: %w", m.id(), b.name, err)
		}
	}
	return nil
}
