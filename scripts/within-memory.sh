#!/bin/sh
# Runs a command in a memory cgroup of its own: `scripts/within-memory.sh 768 node ...`, in MiB. Needs root and cgroups;
# the empty folder stays: `rmdir /sys/fs/cgroup/memory/yard-*` (version 2: `rmdir /sys/fs/cgroup/yard-*`).
set -eu
mib=$1
shift
if [ -f /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
  folder=/sys/fs/cgroup/memory/yard-$$
  limit=memory.limit_in_bytes
else
  folder=/sys/fs/cgroup/yard-$$
  limit=memory.max
fi
mkdir "$folder"
echo $((mib * 1024 * 1024)) >"$folder/$limit"
echo $$ >"$folder/cgroup.procs"
exec "$@"
