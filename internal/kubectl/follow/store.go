// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Store contains the last state of each object that the watches have shown. A [View] of the current
// state embeds it and adds Show. The zero value is empty.
type Store struct {
	objects map[key]client.Object
	// Trouble is the connection error of the server. It is empty while the server answers.
	Trouble string
}

type key struct {
	kind reflect.Type
	client.ObjectKey
}

func keyOf(object client.Object) key {
	return key{reflect.TypeOf(object), client.ObjectKeyFromObject(object)}
}

// Saw stores the object.
func (s *Store) Saw(object client.Object, _ time.Time) {
	if s.objects == nil {
		s.objects = map[key]client.Object{}
	}
	s.objects[keyOf(object)] = object
}

// Gone removes the object.
func (s *Store) Gone(object client.Object, _ time.Time) { delete(s.objects, keyOf(object)) }

// Lost stores why the server does not answer.
func (s *Store) Lost(why string, _ time.Time) { s.Trouble = why }

// Found forgets why the server did not answer.
func (s *Store) Found(time.Time) { s.Trouble = "" }

// Stored returns the objects of one kind, such as *corev1.Node, in the order of their names.
func Stored[T client.Object](s *Store) []T {
	var all []T
	for _, object := range s.objects {
		if o, ok := object.(T); ok {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}
