// SPDX-License-Identifier: Apache-2.0

package podrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/process"
)

// grace is how long the command may take to end after SIGTERM: less than the
// launcher gives its supervisor.
const grace = 8 * time.Second

// once runs the command to its end; when ctx is done, it is asked to end.
func (r Run) once(ctx context.Context) error {
	command := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...)
	command.Env = slices.Concat(os.Environ(), r.Env, []string{r.Marker}, r.Files.Environment(r.Pod))
	command.Stdin, command.Stdout, command.Stderr = r.Stdin, r.Stdout, r.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = grace
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the command of pod %s/%s: %w", r.Pod.Namespace, r.Pod.Name, err)
	}
	defer r.Files.removePID()
	if err := r.Files.writePID(command.Process.Pid); err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		return err
	}
	// When a container's first process ends, all that it has started ends.
	return errors.Join(command.Wait(), process.KillStrays(r.Marker))
}
