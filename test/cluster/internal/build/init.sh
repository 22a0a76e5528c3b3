#!/bin/sh
# First program of a machine: loads drivers, seeds the disk once, starts the real init.
bb=/bin/busybox
$bb mount -t proc proc /proc
$bb mount -t sysfs sys /sys
$bb mount -t devtmpfs dev /dev
for m in /modules/*; do $bb insmod "$m"; done
until [ -b /dev/vda ]; do $bb sleep 0.1; done
$bb mount -t ext4 -o noatime /dev/vda /root || exec $bb sh
if [ ! -e /root/etc/rig/seeded ]; then
  $bb cp -a /seed/. /root/ && $bb touch /root/etc/rig/seeded && $bb sync
fi
for d in proc sys dev; do $bb mount --move /$d /root/$d; done
exec $bb switch_root /root /sbin/init
