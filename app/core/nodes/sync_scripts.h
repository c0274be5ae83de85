// SPDX-License-Identifier: MIT
#pragma once
// The node's half of a sync: POSIX sh with sha256sum, tar and coreutils, since none of our programs need be there yet.
// Arguments: $1 the data home, $2 the bundle, $3 the version.

namespace lockstep::core::scripts {

/// Prints key=value lines.
inline constexpr const char *survey = R"SH(echo arch=$(uname -m)
echo glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/glibc //')
home="${LOCKSTEP_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/lockstep}"
echo "home=$home"
command -v rsync >/dev/null 2>&1 && echo rsync=yes
command -v tar >/dev/null 2>&1 && command -v sha256sum >/dev/null 2>&1 && echo tar=yes
ls /dev/nvidia[0-9]* >/dev/null 2>&1 && echo gpus=yes
sed -n 's/^NVRM version:.*  \([0-9][0-9.]*\)  .*/driver=\1/p' /proc/driver/nvidia/version 2>/dev/null
if command -v nvidia-smi >/dev/null 2>&1; then
  cards=$(timeout 20 nvidia-smi --query-gpu=driver_version,compute_cap,name --format=csv,noheader 2>/dev/null </dev/null) ||
    cards=$(timeout 20 nvidia-smi --query-gpu=driver_version,name --format=csv,noheader 2>/dev/null </dev/null | sed 's/, /, -, /')
  printf '%s\n' "$cards" | sed -n 's/^[0-9]/card=&/p'
fi
d=$home; while [ ! -d "$d" ] && [ "$d" != / ]; do d=$(dirname "$d"); done
echo free_kib=$(df -Pk "$d" | awk 'NR==2 {print $4}')
torch=
if [ -n "$LOCKSTEP_TORCH" ]; then for t in "$LOCKSTEP_TORCH" "$LOCKSTEP_TORCH/torch"; do [ -e "$t/lib/libtorch_cpu.so" ] && torch=$t; done
else
  torch=$(python3 -c 'import sys
sys.path = [p for p in sys.path if p]
import importlib.util as u
s = u.find_spec("torch")
print(s.submodule_search_locations[0] if s and s.origin else "")' 2>/dev/null </dev/null)
  if [ ! -e "$torch/lib/libtorch_cpu.so" ]; then torch=; for t in "$home"/torch/lib/*/site-packages/torch; do [ -e "$t/lib/libtorch_cpu.so" ] && torch=$t; done; fi
fi
if [ -n "$torch" ]; then echo "torch=$torch"; sed -n "s/^__version__[^'\"]*['\"]\\([^'\"]*\\).*/torch_version=\\1/p" "$torch/version.py" | head -n 1; fi)SH";

/// Reads the manifest from stdin, links what the previous version has, and prints what is missing:
///   "missing PATH", or "part BYTES SHA256 PATH" for a file whose beginning is there.
inline constexpr const char *plan = R"SH(set -e
umask 077
b="$1/sync/$2"; n="$b/incoming-$3"
if [ -f "$b/versions/$3/.manifest" ]; then cd "$b/versions/$3"; cat > /dev/null
  if sha256sum -c .manifest >/dev/null 2>&1; then echo "present"; exit 0; fi
  mkdir -p "$n"; cp .manifest "$n/.manifest"
else mkdir -p "$n"; cat > "$n/.manifest.new"; mv "$n/.manifest.new" "$n/.manifest"
fi
cd "$n"
while read -r h p; do
  d=$(dirname "$p"); mkdir -p "$d"
  [ -e "$p" ] && continue
  for old in "$b/versions/$3" "$b/current"; do
    if [ -f "$old/$p" ] && grep -qxF "$h  $p" "$old/.manifest" 2>/dev/null; then ln "$old/$p" "$p" 2>/dev/null || cp -p "$old/$p" "$p"; break; fi
  done
done < .manifest
sha256sum -c .manifest 2>/dev/null | sed -n 's/: FAILED.*$//p' | while read -r p; do
  if [ -e "$p" ] && [ "$(stat -c %h "$p")" = 1 ]; then echo "part $(stat -c %s "$p") $(sha256sum < "$p" | cut -c 1-64) $p"
  else rm -f "$p"; echo "missing $p"; fi
done
echo planned)SH";

/// Reads the rest of one file ($4, relative) from stdin.
inline constexpr const char *append = R"SH(umask 077; cat >> "$1/sync/$2/incoming-$3/$4")SH";
/// Reads a tar of the missing files from stdin.
inline constexpr const char *unpack = R"SH(umask 077; cd "$1/sync/$2/incoming-$3" && tar -x -f - --no-same-owner)SH";

/// Reads the paths of executables from stdin; verifies all files, switches, prunes. Prints "wrong PATH" for a damaged
/// file.
inline constexpr const char *finish = R"SH(set -e
b="$1/sync/$2"; n="$b/incoming-$3"; v="$b/versions/$3"
if [ -d "$n" ]; then
  cd "$n"
  while read -r p; do chmod 755 "$p"; done
  wrong=$(sha256sum -c .manifest 2>/dev/null | sed -n 's/: FAILED.*$//p')
  if [ -n "$wrong" ]; then echo "$wrong" | sed 's/^/wrong /'; exit 1; fi
  sync -f . 2>/dev/null || true
  mkdir -p "$b/versions"; cd "$b"
  if [ -e "$v" ]; then mv -T "$v" "$b/old-$3.$$"; fi
  mv -T "$n" "$v"
fi
cd "$b"
before=$(readlink current 2>/dev/null || true)
if [ "$before" != "versions/$3" ]; then
  ln -s "versions/$3" "current.$$"; mv -T "current.$$" current
  echo "$before" > before
fi
keep=$(cat before 2>/dev/null || true)
here=$(pwd -P)
used() { ls -l /proc/[0-9]*/exe 2>/dev/null | grep -qF -- "-> $here/$1/"; }
for d in versions/*; do [ "$d" = "versions/$3" ] || [ "$d" = "$keep" ] || used "$d" || rm -rf "$d"; done
for d in incoming-* old-*; do [ -e "$d" ] && rm -rf "$d"; done
case "$2" in data-*) name=${2#data-}; mkdir -p "$1/data"
  if [ -L "$1/data/$name" ] || [ ! -e "$1/data/$name" ]; then
    ln -s "../sync/$2/current" "$1/data/.$name.$$"; mv -T "$1/data/.$name.$$" "$1/data/$name"; fi;;
esac
echo switched)SH";

/// Sets whether the synced torch takes precedence over the node's own: $2 is its bundle, $3 yes or no.
inline constexpr const char *preferTorch =
    R"SH(mkdir -p "$1/sync/$2" && if [ "$3" = yes ]; then : > "$1/sync/$2/prefer"; else rm -f "$1/sync/$2/prefer"; fi)SH";

} // namespace lockstep::core::scripts
