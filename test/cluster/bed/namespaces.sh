#!/bin/sh
# Holds the network and the mount namespace of the bed: `unshare --mount --net namespaces.sh STATE NODE SERVICES`.
# Nothing inside has a way out, and nothing that is mounted or set inside is seen outside.
set -eu
state="$1" node="$2" services="$3"
mount --make-rshared /

# The kubelet sets these for the whole machine. It finds files of the bed in their place instead.
mkdir -p "$state/sysctl"
while read -r path value; do
  file="$state/sysctl/$(basename "$path")"
  echo "$value" >"$file"
  mount --bind "$file" "/proc/sys/$path"
done <<SETTINGS
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
SETTINGS

# Where containerd, runc and the kubelet keep files whatever they are told. Those of the bed lie in its
# own directory; a directory that had to be made outside is noted, and removed with the bed.
for path in /run/netns /run/containerd /var/lib/cni/results /var/lib/kubelet/device-plugins; do
  if [ ! -d "$path" ]; then
    mkdir -p "$path"
    echo "$path" >>"$state/made-outside"
  fi
  mkdir -p "$state/inside$path"
  mount --bind "$state/inside$path" "$path"
done

ip link set lo up
ip link add node0 type bridge
ip address add "$node/24" dev node0
ip link set node0 up
ip route add "$services" dev node0
ip route add unreachable default
echo 1 >/proc/sys/net/ipv4/ip_forward
if [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]; then
  echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
fi
touch "$state/namespaces.ready"
exec sleep infinity
