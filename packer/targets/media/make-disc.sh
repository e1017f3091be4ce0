#!/usr/bin/env bash
# Makes an installation disc of Windows that turns each machine into a node:
#
#   bash make-disc.sh --iso WINDOWS.iso --out NODE.iso [--index N] [--answers Autounattend.xml] [--drivers DIR] [--wim NODE.wim]
#
# Run it in the folder into which the archive was extracted. The digest of WINDOWS.iso must be the one of the lockfile.
# Windows Setup installs the image number N of the disc (default: all get the files); after Setup, the engine of this
# folder makes the node, without network. --answers is your answer file, --drivers a folder with drivers for Setup, and
# --wim a copy of the changed install.wim for a network start.
# The policies of the plan are in the registry of these images before Windows starts for the first time.
# Needs sha256sum, 7z, wimlib-imagex, hivexregedit and xorriso.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
iso='' out='' index='' answers='' drivers='' wim_copy=''

fail() {
    echo "make-disc.sh: $1" >&2
    exit "${2:-1}"
}

while [ "$#" -gt 0 ]; do
    [ "$#" -ge 2 ] || fail "$1 needs a value" 2
    case $1 in
    --iso) iso=$2 ;;
    --out) out=$2 ;;
    --index) index=$2 ;;
    --answers) answers=$2 ;;
    --drivers) drivers=$2 ;;
    --wim) wim_copy=$2 ;;
    *) fail "unknown argument $1" 2 ;;
    esac
    shift 2
done
if [ -z "$iso" ] || [ -z "$out" ]; then fail "--iso and --out are required" 2; fi
for tool in sha256sum 7z wimlib-imagex hivexregedit xorriso; do
    command -v "$tool" >/dev/null || fail "needs $tool" 2
done
[ ! -e "$out" ] || fail "$out is there already" 2
[ -d "$here/artifacts" ] || fail "no folder artifacts in $here: extract the archive of the build, and run the script there" 2

pinned=$(sed -n 's/.*"windows_iso_sha256": *"\([0-9a-f]\{64\}\)".*/\1/p' "$here/imagegen.lock.json" | head -n 1)
[ -n "$pinned" ] || fail "imagegen.lock.json names no windows_iso_sha256" 2
found=$(sha256sum -- "$iso" | cut -d ' ' -f 1)
[ "$found" = "$pinned" ] || fail "digest of $iso is $found, in the lockfile it is $pinned" 4

work=$(mktemp -d "$(dirname -- "$out")/.make-disc-XXXXXX")
trap 'rm -rf -- "$work"' EXIT
7z x -bd -y -o"$work/disc" -- "$iso" >"$work/7z.log" || fail "7z cannot read $iso: $(tail -n 3 "$work/7z.log")"
chmod -R u+w "$work/disc"

# path NAME: a file of the disc, whose names Windows compares without case.
path() { find "$work/disc" -ipath "$work/disc/$1" -print -quit; }
image=$(path sources/install.wim)
[ -n "$image" ] || fail "$iso has no sources/install.wim: a disc of Windows Server has one"

# The node's files, and the script that Windows Setup runs at its end.
mkdir -p "$work/add/imagegen-disc" "$work/add/Windows/Setup/Scripts"
for entry in artifacts certificates engine node resources guest-plan.json imagegen.lock.json Install.ps1 install-task.xml; do
    if [ -e "$here/$entry" ]; then cp -R -- "$here/$entry" "$work/add/imagegen-disc/"; fi
done
cp -- "$here/SetupComplete.cmd" "$work/add/Windows/Setup/Scripts/"
# refuse_evaluation NUMBER: an image of an evaluation edition stops after 180 days and must not be published.
refuse_evaluation() {
    local edition
    edition=$(wimlib-imagex info "$image" "$1" | sed -n 's/^Edition ID: *//p')
    case $edition in
    *Eval*) grep -q '"evaluation": *true' "$here/imagegen.lock.json" ||
        fail "image $1 of $iso is the evaluation edition $edition: take the media of your license, or build with --var evaluation=true for tests of your own" 3 ;;
    esac
}

# merge_policies NUMBER: the files of registry/ go into the hives of the image.
merge_policies() {
    local hive policies
    for policies in "$here"/registry/*.reg; do
        [ -e "$policies" ] || continue
        hive=$(basename "$policies" .reg)
        rm -rf "$work/hives"
        wimlib-imagex extract "$image" "$1" "/Windows/System32/config/$hive" --dest-dir="$work/hives" >/dev/null ||
            fail "image $1 of $iso has no hive $hive"
        hivexregedit --merge --prefix "HKEY_LOCAL_MACHINE\\$hive" "$work/hives/$hive" "$policies"
        printf 'add "%s" "/Windows/System32/config/%s"\n' "$work/hives/$hive" "$hive" |
            wimlib-imagex update "$image" "$1" >/dev/null
    done
}

count=$(wimlib-imagex info "$image" | sed -n 's/^Image Count: *//p')
for ((number = 1; number <= count; number++)); do
    if [ -n "$index" ] && [ "$number" != "$index" ]; then continue; fi
    refuse_evaluation "$number"
    merge_policies "$number"
    printf 'add "%s" /\n' "$work/add" | wimlib-imagex update "$image" "$number" >/dev/null
    added=$number
done
[ -n "${added:-}" ] || fail "$iso has $count images, and none of number $index"
wimlib-imagex verify "$image" >/dev/null
if [ -n "$wim_copy" ]; then cp -- "$image" "$wim_copy"; fi

if [ -n "$answers" ]; then cp -- "$answers" "$work/disc/Autounattend.xml"; fi
# Windows Setup loads drivers from this folder by itself.
if [ -n "$drivers" ]; then cp -R -- "$drivers" "$work/disc/\$WinPEDriver\$"; fi
# A file of an ISO 9660 disc has less than 4 GiB; Windows Setup reads parts.
if [ "$(stat -c %s "$image")" -ge 4294967295 ]; then
    wimlib-imagex split "$image" "${image%.*}.swm" 3800 >/dev/null
    rm -- "$image"
fi

bios=$(path boot/etfsboot.com)
uefi=$(path efi/microsoft/boot/efisys_noprompt.bin)
if [ -z "$bios" ] || [ -z "$uefi" ]; then fail "$iso has no boot/etfsboot.com or no efi/microsoft/boot/efisys_noprompt.bin"; fi
xorriso -as mkisofs -quiet -iso-level 3 -J -joliet-long -R -V NODE \
    -b "${bios#"$work/disc/"}" -no-emul-boot -boot-load-size 8 -c boot/boot.cat \
    -eltorito-alt-boot -e "${uefi#"$work/disc/"}" -no-emul-boot \
    -o "$work/node.iso" "$work/disc"
mv -- "$work/node.iso" "$out"
sha256sum -- "$out"
