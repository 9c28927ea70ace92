"""What keeps bubblewrap from working on a machine, by its message, and the way out."""

APPARMOR = (
    "allow bwrap its user namespace: printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap "
    "flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r "
    "/etc/apparmor.d/bwrap; or grade as root (sudo), which needs none"
)
FIXES = {
    "not installed": "apt-get install bubblewrap",
    "libseccomp": "apt-get install libseccomp2",
    "setting up uid map": APPARMOR,
    "RTM_NEWADDR": APPARMOR,
    "No permissions to create": "sudo sysctl -w kernel.unprivileged_userns_clone=1, or grade as root",
    "Creating new namespace failed": "run the container with --privileged, or grade outside of it",
    "Can't find source path": "move the checkout or Python out of a closed home (chmod o+x), or grade as root",
}


def fix_for(message: str) -> str:
    """What to do about what bwrap (or jail.py) said."""
    fallback = "run `bwrap --version`; the jail needs bubblewrap 0.8, Linux namespaces and a readable Python"
    return next((fix for part, fix in FIXES.items() if part in message), fallback)
