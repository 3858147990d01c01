/**
 * The scripts that run in containers. The first process of a container is the first of them: it mounts the persistent
 * folders, waits for the interfaces, and becomes the command of the image. A static busybox lies beside them, since
 * images may have no shell of their own.
 */

/** The programs that the scripts, `ifup` and its helpers need, as names of busybox. */
export const APPLETS = [
  ...['ash', 'cat', 'chmod', 'chown', 'cp', 'cut', 'env', 'find', 'grep', 'head', 'id', 'ifconfig', 'ifdown'],
  ...[
    'ifup',
    'ip',
    'ln',
    'ls',
    'mkdir',
    'mount',
    'mv',
    'nc',
    'printf',
    'rm',
    'route',
    'run-parts',
    'sed',
    'sh',
  ],
  ...['sleep', 'stat', 'su', 'tar', 'test', 'touch', 'true', 'udhcpc', 'umount', 'vi', 'xargs'],
];

const PERMISSIONS = '.gns3_perms';

export const INIT_SCRIPT = `#!/gns3/bin/sh
# The first process of a container of a lab.
old_path=$PATH
PATH=/gns3/bin:$PATH

# A folder that outlives the container has what the image has there when the container starts for the first time.
keep() {
  kept=/gns3volumes$1
  mkdir -p "$1"
  if [ -f "$kept/${PERMISSIONS}" ]; then
    while IFS=: read -r mode user group path; do
      case $path in "$1"|"$1"/*) ;; *) continue ;; esac
      file=$kept\${path#"$1"}
      [ -e "$file" ] || [ -L "$file" ] || continue
      chown -h "$user:$group" "$file"
      [ -L "$file" ] || chmod "$mode" "$file"
    done <"$kept/${PERMISSIONS}"
  else
    tar -C "$1" -cf - . | tar -C "$kept" -xkf - 2>/dev/null
    chown "$(stat -c %u:%g "$1")" "$kept"
    chmod "$(stat -c %a "$1")" "$kept"
    : >"$kept/${PERMISSIONS}"
  fi
  mount -o bind "$kept" "$1" || echo "The folder $1 could not be kept"
}
old_ifs=$IFS
IFS=:
for path in $GNS3_VOLUMES; do
  IFS=$old_ifs
  keep "$path"
done
IFS=$old_ifs

begin='# Hosts of the node'
end='# End of the hosts of the node'
touch /etc/hosts
others=$(sed "/^$begin\\$/,/^$end\\$/d" /etc/hosts)
{
  [ -z "$others" ] || printf '%s\\n' "$others"
  [ -z "$GNS3_EXTRA_HOSTS" ] || printf '%s\\n%s\\n%s\\n' "$begin" "$GNS3_EXTRA_HOSTS" "$end"
} >/etc/hosts
grep -q '[[:space:]]localhost' /etc/hosts || printf '127.0.0.1\\tlocalhost\\n' >>/etc/hosts

until grep -q "^ *$GNS3_MAX_ETHERNET:" /proc/net/dev; do sleep 0.02; done
sed -n 's/^ *\\(lo\\|eth[0-9]*\\):.*/\\1/p' /proc/net/dev | while read -r device; do ip link set dev "$device" up; done
[ ! -f /etc/network/interfaces ] || ifup -a -f

user=\${GNS3_USER%%:*}
PATH=$old_path
case $user in
  ''|root|0) exec "$@" ;;
  *[!0-9]*) ;;
  *) user=$(/gns3/bin/sed -n "s/^\\([^:]*\\):[^:]*:$user:.*/\\1/p" /etc/passwd | /gns3/bin/head -n 1) ;;
esac
if [ -z "$user" ]; then
  echo "The user $GNS3_USER of the image has no name in /etc/passwd"
  exit 126
fi
exec /gns3/bin/su -p -s /gns3/bin/sh "$user" -c 'exec "$0" "$@"' "$@"
`;

/** Its arguments are the user and the group of the server. */
export const SAVE_SCRIPT = `#!/gns3/bin/sh
PATH=/gns3/bin
IFS=:
for path in $GNS3_VOLUMES; do
  kept=/gns3volumes$path
  find "$kept" -depth ! -name ${PERMISSIONS} -print0 | xargs -0 stat -c '%a:%u:%g:%n' |
    sed 's|^\\([0-7]*:[0-9]*:[0-9]*:\\)/gns3volumes|\\1|' >"$kept/${PERMISSIONS}"
  if [ "$1" != 0 ]; then
    chmod -R u+rX "$kept"
    chown -R "$1:$2" "$kept"
  fi
done
`;
