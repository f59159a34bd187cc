#!/bin/sh
# An upgrade ($1: upgrade, or 1 with RPM) keeps the service running.
case $1 in
remove | 0) [ -d /run/systemd/system ] && systemctl disable --now probe-agent.service ;;
esac
exit 0
