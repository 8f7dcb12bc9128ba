#!/usr/bin/env bash
# A student without a shared disk: runs the commands that docs/setup.md shows for a cluster behind
# ssh, word for word, against an sshd of this machine and a Slurm of one node.
#
#     grader/cli/tests/job_over_ssh.sh BUILD
#
# Says "skipped: …" where sshd, Slurm or munge is missing, or this is not root. Without a GPU the
# check is emulated; it took two minutes on 2 cores at a load of 13.
set -euo pipefail

build=$(realpath "${1:?the build folder}")
tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../..")
if ! sshd=$(command -v sshd); then
  echo "skipped: there is no sshd (Debian's openssh-server)"
  exit 0
fi
if [[ -z ${CONVLAB_OWN_MOUNTS:-} ]] && ((EUID == 0)); then
  CONVLAB_OWN_MOUNTS=1 exec unshare --mount "${BASH_SOURCE[0]}" "$@"
fi
# shellcheck source=grader/class/tests/one_node_slurm.sh
source "$tree/grader/class/tests/one_node_slurm.sh"

# The cluster: an account with a clone that is built, here with this build. This script and its
# children see a copy where the build knows its sources, so the student's file changes no other.
laptop=$base/laptop
mkdir -p "$laptop" "$base/copy/${build#"$tree"/}" "$base/home" "$base/ssh"
# With their times: nothing is built again.
(cd "$tree" && git ls-files -z | tar -c --null --files-from=-) | tar -x -C "$base/copy"
cp -r "$base/copy/." "$laptop"
ln -s "${build##*/}/bin" "$base/copy/build/bin"
mkdir "$base/home/convlab"
mount --bind "$build" /mnt
mount --bind "$base/copy" "$tree"
mount --bind /mnt "$build"
mount --rbind "$tree" "$base/home/convlab"
# What is mounted must not be removed with the folder.
trap 'cd /; umount --lazy "$base/home/convlab" "$build" "$tree" || rm() { :; }; finish' EXIT

# The student's laptop: a clone with a solved m2, and the archive that grader submit packs of it.
mkdir -p "$laptop/build/results"
cp "$tree/reference/solutions/m2_gpu_baseline/conv_forward.cu" "$laptop/milestones/m2_gpu_baseline/"
tar -czf "$laptop/m2-submission.tar.gz" -C "$laptop" --transform='s|^|m2-submission/|' \
  milestones/m2_gpu_baseline/conv_forward.cu

cat >"$base/ssh/login" <<TEXT
#!/bin/sh
cd '$base/home' || exit 1
export HOME='$base/home' SLURM_CONF='$SLURM_CONF'
export SBATCH_GRES=none CONVLAB_SUBMISSION_OPTIMISE=-O1
exec sh -c "\$SSH_ORIGINAL_COMMAND"
TEXT
chmod +x "$base/ssh/login"
ssh-keygen -q -t ed25519 -N '' -f "$base/ssh/host"
ssh-keygen -q -t ed25519 -N '' -f "$base/ssh/key"
cat >"$base/ssh/sshd_config" <<TEXT
Port $((port + 2))
ListenAddress 127.0.0.1
HostKey $base/ssh/host
AuthorizedKeysFile $base/ssh/key.pub
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
ForceCommand $base/ssh/login
Subsystem sftp /usr/lib/openssh/sftp-server
TEXT
cat >"$base/ssh/config" <<TEXT
Host cluster
  HostName 127.0.0.1
  Port $((port + 2))
  User root
  IdentityFile $base/ssh/key
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
TEXT
mkdir -p /run/sshd
"$sshd" -D -e -f "$base/ssh/sshd_config" 2>"$base/ssh/log" &
pids+=("$!")
ssh() { command ssh -F "$base/ssh/config" "$@"; }
scp() { command scp -F "$base/ssh/config" "$@"; }
for ((i = 0; i < 50; ++i)); do
  ssh cluster true 2>/dev/null && break
  sleep 0.1
done

# The block that begins with scp.
awk '/^    scp m2-submission/ { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' \
  "$tree/docs/setup.md" >"$base/commands"
cat "$base/commands"
cd "$laptop"
# shellcheck source=/dev/null
source "$base/commands"
if grep --quiet '"verdict": "passed"' build/results/m2-student.json; then
  echo "fine: the result came back"
else
  echo "no result, or not passed"
  exit 1
fi
