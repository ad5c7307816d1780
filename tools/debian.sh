# Sourced by the scripts that take packages of another Debian than this machine's. They set
#
#     label=next                    in front of every line that they print
#     repo=… home=$repo/build/…     the sources, and the directory for all that the script makes, $home/log among it

say() { echo "$label: $*"; }
fail() {
    echo "$label: error: $*" >&2
    exit 1
}

# Output goes to the log; it is shown only after a failure, with the caller's `remedy` if there is one.
quietly() {
    echo "\$ $*" >>"$home/log"
    "$@" >>"$home/log" 2>&1 </dev/null || {
        tail -n 20 "$home/log" >&2
        fail "$1 failed, see ${home#"$repo/"}/log${remedy:+ ($remedy)}"
    }
}

# Packages come from the mirror that this machine's apt uses, or from where the named variable says.
find_mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | sed 1q
}

# Sets `mirror`. apt does not know whose a mirror is before it has been there.
choose_mirror() {
    mirror=${!1-}
    [ -n "$mirror" ] || mirror=$(find_mirror)
    [ -n "$mirror" ] || { apt-get -q update >>"$home/log" 2>&1 && mirror=$(find_mirror); } || true
    [ -n "$mirror" ] || fail "this machine's apt knows no mirror of Debian: set $1=URL"
}

# How this machine's apt reaches its mirror, as lines of an apt.conf.
print_apt_access() {
    apt-config dump Acquire | grep -E '^Acquire::(https?|Retries|ForceIPv|Check-Valid-Until)' | grep -v Auto-Detect || true
}
