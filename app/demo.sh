#!/bin/sh
# What `./run demo` shows; its argument is the sgdsim program that was just built.
set -eu
"$1" --version
