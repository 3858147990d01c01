/** A program that behaves like an IOU image: its source is C, because images are ELF files. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { scratchFolder, type Teardown } from './scratch.js';

/**
 * It reads NETMAP, locks and binds its socket, and keeps an NVRAM. At its console: `ip BAY/UNIT ADDRESS` gives a port an
 * address for which it answers ARP and echo requests; `ping BAY/UNIT ADDRESS` asks for one; `write TEXT` puts a line into
 * the configuration of its NVRAM; `show config`, `show license` and `show args` print; `read PATH` and `reach PORT` say
 * whether a file of the host can be read, and a port of its loopback be reached; `take MEGABYTES` takes memory; `exit STATUS`
 * ends it.
 */
const SOURCE = String.raw`
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int id, peer[256], sock;
static unsigned char address[256][4], waiting[256][4];
static int has[256], waits[256];

static void mac(int port, unsigned char *to) {
  unsigned char own[6] = {0xaa, 0xbb, 0xcc, (unsigned char)(id >> 8), (unsigned char)id, (unsigned char)port};
  memcpy(to, own, 6);
}

static void path_of(char *to, size_t room, int number, const char *end) {
  snprintf(to, room, "/tmp/netio%d/%d%s", (int)geteuid(), number, end);
}

static void transmit(int port, const unsigned char *frame, int length) {
  unsigned char out[5000];
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  int far = peer[port];
  out[0] = far >> 8; out[1] = far; out[2] = id >> 8; out[3] = id;
  out[4] = port; out[5] = port; out[6] = 1; out[7] = 0;
  memcpy(out + 8, frame, length);
  path_of(to.sun_path, sizeof to.sun_path, far, "");
  if (sendto(sock, out, length + 8, 0, (struct sockaddr *)&to, sizeof to) < 0) perror("sendto");
}

static unsigned short sum(const unsigned char *bytes, int length) {
  unsigned long total = 0;
  for (int i = 0; i + 1 < length; i += 2) total += bytes[i] << 8 | bytes[i + 1];
  if (length & 1) total += bytes[length - 1] << 8;
  while (total >> 16) total = (total & 0xffff) + (total >> 16);
  return ~total;
}

static void arp(int port, int operation, const unsigned char *to_mac, const unsigned char *to_ip) {
  unsigned char f[60] = {0};
  memcpy(f, to_mac, 6); mac(port, f + 6); f[12] = 8; f[13] = 6;
  f[15] = 1; f[16] = 8; f[18] = 6; f[19] = 4; f[21] = operation;
  mac(port, f + 22); memcpy(f + 28, address[port], 4);
  if (operation == 2) memcpy(f + 32, to_mac, 6);
  memcpy(f + 38, to_ip, 4);
  transmit(port, f, sizeof f);
}

static void echo(int port, const unsigned char *to_mac, const unsigned char *to_ip) {
  unsigned char f[98] = {0};
  memcpy(f, to_mac, 6); mac(port, f + 6); f[12] = 8;
  f[14] = 0x45; f[17] = 84; f[22] = 64; f[23] = 1;
  memcpy(f + 26, address[port], 4); memcpy(f + 30, to_ip, 4);
  unsigned short s = sum(f + 14, 20); f[24] = s >> 8; f[25] = s;
  f[34] = 8; f[38] = 1; f[41] = 1;
  s = sum(f + 34, 64); f[36] = s >> 8; f[37] = s;
  transmit(port, f, sizeof f);
}

static void receive(void) {
  unsigned char b[5000], *f = b + 8;
  int length = recv(sock, b, sizeof b, 0) - 8;
  int port = b[4];
  if (length < 34 || !has[port]) return;
  if (f[12] == 8 && f[13] == 6 && memcmp(f + 38, address[port], 4) == 0) {
    if (f[21] == 1) arp(port, 2, f + 22, f + 28);
    else if (waits[port] && memcmp(f + 28, waiting[port], 4) == 0) echo(port, f + 22, waiting[port]);
  } else if (f[12] == 8 && f[13] == 0 && f[23] == 1 && memcmp(f + 30, address[port], 4) == 0) {
    unsigned char swap[6];
    if (f[34] == 0 && waits[port]) { waits[port] = 0; printf("answer from %d.%d.%d.%d\n", f[26], f[27], f[28], f[29]); return; }
    if (f[34] != 8) return;
    memcpy(swap, f, 6); memcpy(f, f + 6, 6); memcpy(f + 6, swap, 6);
    memcpy(swap, f + 26, 4); memcpy(f + 26, f + 30, 4); memcpy(f + 30, swap, 4);
    f[34] = 0; f[36] = f[37] = 0;
    unsigned short s = sum(f + 34, (f[16] << 8 | f[17]) - 20); f[36] = s >> 8; f[37] = s;
    transmit(port, f, length);
  }
}

static void config(const char *line) {
  char path[40];
  static unsigned char n[1 << 20];
  snprintf(path, sizeof path, "nvram_%05d", id);
  FILE *file = fopen(path, "r");
  size_t size = file ? fread(n, 1, sizeof n, file) : 0;
  if (file) fclose(file);
  if (size < 8192) { size = 65536; memset(n, 0, size); n[0] = 0xab; n[1] = 0xcd; n[3] = 1; n[6] = 0x0f; n[7] = 4; }
  unsigned length = n[16] << 24 | n[17] << 16 | n[18] << 8 | n[19];
  if (line == NULL) { printf("[%.*s]\n", (int)length, n + 36); return; }
  length += sprintf((char *)n + 36 + length, "%s\n", line);
  n[16] = length >> 24; n[17] = length >> 16; n[18] = length >> 8; n[19] = length;
  file = fopen(path, "w"); fwrite(n, 1, size, file); fclose(file);
  printf("written\n");
}

static int port_of(int bay, int unit) { return (bay & 15) | unit << 4; }

static void command(char *line) {
  int bay, unit, a, b, c, d;
  line[strcspn(line, "\r\n")] = 0;
  if (sscanf(line, "ip %d/%d %d.%d.%d.%d", &bay, &unit, &a, &b, &c, &d) == 6) {
    int port = port_of(bay, unit);
    unsigned char ip[4] = {a, b, c, d};
    memcpy(address[port], ip, 4); has[port] = 1; printf("ok\n");
  } else if (sscanf(line, "ping %d/%d %d.%d.%d.%d", &bay, &unit, &a, &b, &c, &d) == 6) {
    int port = port_of(bay, unit);
    unsigned char ip[4] = {a, b, c, d}, all[6] = {255, 255, 255, 255, 255, 255};
    memcpy(waiting[port], ip, 4); waits[port] = 1; arp(port, 1, all, ip);
  } else if (strncmp(line, "write ", 6) == 0) config(line + 6);
  else if (strcmp(line, "show config") == 0) config(NULL);
  else if (sscanf(line, "take %d", &a) == 1) printf("taken: %p\n", memset(malloc((size_t)a << 20), 1, (size_t)a << 20));
  else if (strncmp(line, "read ", 5) == 0) printf("read: %s\n", open(line + 5, O_RDONLY) < 0 ? strerror(errno) : "done");
  else if (sscanf(line, "reach %d", &a) == 1) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(a), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int inet = socket(AF_INET, SOCK_STREAM, 0);
    printf("reach: %s\n", connect(inet, (struct sockaddr *)&to, sizeof to) < 0 ? strerror(errno) : "done");
  } else if (strncmp(line, "exit ", 5) == 0) exit(atoi(line + 5));
  else if (strcmp(line, "show license") == 0) {
    char text[200] = "none"; const char *name = getenv("IOURC");
    struct stat s = {0};
    FILE *file = name ? fopen(name, "r") : NULL;
    if (file) { fgets(text, sizeof text, file); stat(name, &s); fclose(file); }
    printf("license %o %s\n", (unsigned)(s.st_mode & 07777), text);
  } else printf("unknown: %s\n", line);
}

int main(int count, char **args) {
  int a, b, c, d, e, f;
  char line[300], path[100];
  setvbuf(stdout, NULL, _IONBF, 0);
  id = atoi(args[count - 1]);
  FILE *map = fopen("NETMAP", "r");
  if (!map) { printf("no NETMAP\n"); return 1; }
  while (fscanf(map, "%d:%d/%d %d:%d/%d", &a, &b, &c, &d, &e, &f) == 6) if (d == id) peer[port_of(e, f)] = a;
  fclose(map);
  path_of(path, sizeof path, id, ".lck");
  int lock = open(path, O_RDWR | O_CREAT, 0600);
  struct flock how = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (lock < 0 || fcntl(lock, F_SETLK, &how) < 0) { printf("locked\n"); return 2; }
  struct sockaddr_un own = {.sun_family = AF_UNIX};
  path_of(own.sun_path, sizeof own.sun_path, id, "");
  unlink(own.sun_path);
  sock = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (bind(sock, (struct sockaddr *)&own, sizeof own) < 0) { perror("bind"); return 3; }
  printf("args:");
  for (int i = 0; i < count; i++) printf(" %s", args[i]);
  printf("\nready\n");
  struct pollfd fds[2] = {{.fd = 0, .events = POLLIN}, {.fd = sock, .events = POLLIN}};
  while (poll(fds, 2, -1) > 0 || errno == EINTR) {
    if (fds[0].revents) { if (!fgets(line, sizeof line, stdin)) return 0; command(line); }
    if (fds[1].revents) receive();
  }
  return 0;
}
`;

/** Names the package of what is missing; false when nothing is. */
export function missingCompiler(): string | false {
  const isThere = spawnSync('which', ['gcc']).status === 0;
  return isThere ? false : 'the program gcc is missing: install the packages gcc and libc6-dev';
}

/** Makes an image file. */
export function buildIouImage(t: Teardown, target: string): void {
  const source = join(scratchFolder(t), 'image.c');
  writeFileSync(source, SOURCE);
  mkdirSync(dirname(target), { recursive: true });
  const { status, stderr } = spawnSync('gcc', ['-O1', '-w', '-o', target, source], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the compiler failed: ${stderr}`);
}
