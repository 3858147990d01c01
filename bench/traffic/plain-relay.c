/*
 * The C forwarder that the engine is compared with: one recv and one send a datagram, a thread each way, as uBridge
 * does it. Usage: plain-relay IN_LOCAL IN_REMOTE OUT_LOCAL OUT_REMOTE (UDP ports on 127.0.0.1).
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

/* As the engine asks for. */
#define RECEIVE_BUFFER (4 << 20)

struct direction {
  int from, to;
};

static void *carry(void *argument) {
  const struct direction *direction = argument;
  char frame[65536];
  for (;;) {
    ssize_t length = recv(direction->from, frame, sizeof frame, 0);
    /* An error tells that nobody listens at the far end; the next frame may arrive. */
    if (length > 0) send(direction->to, frame, (size_t)length, 0);
  }
  return NULL;
}

static int open_end(const char *local, const char *remote) {
  int end = socket(AF_INET, SOCK_DGRAM, 0), size = RECEIVE_BUFFER;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(end, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  address.sin_port = htons((uint16_t)atoi(local));
  if (bind(end, (struct sockaddr *)&address, sizeof address) != 0) {
    perror("bind");
    exit(1);
  }
  address.sin_port = htons((uint16_t)atoi(remote));
  if (connect(end, (struct sockaddr *)&address, sizeof address) != 0) {
    perror("connect");
    exit(1);
  }
  return end;
}

int main(int count, char **arguments) {
  if (count != 5) return 2;
  int in = open_end(arguments[1], arguments[2]), out = open_end(arguments[3], arguments[4]);
  struct direction there = {in, out}, back = {out, in};
  pthread_t thread;
  if (pthread_create(&thread, NULL, carry, &back) != 0) return 1;
  puts("ready");
  fflush(stdout);
  carry(&there);
}
