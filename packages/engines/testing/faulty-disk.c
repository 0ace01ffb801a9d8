/* A disk that fails, for tests: loaded in front of the C library, it sees every write to the store's file and every
 * sync of it, and then
 *
 *   YARD_CUT_AT=N      cuts the power at the N-th of them: of what was written and not synced, some is as if it had
 *                      never been written (YARD_SEED says which), and the process is gone;
 *   YARD_EIO_AT=N      has one sync fail with EIO, the first from the N-th call on. Those after it succeed again, as a
 *                      kernel's do that has thrown the pages away.
 *
 * What goes through a descriptor opened with O_DSYNC is safe when the call returns. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, UNSYNCED_MAX = 65536 };

struct unsynced {
  off_t at;
  size_t size;
  char before[PAGE];
};

static struct unsynced *unsynced;
static int count;
static long calls;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static int (*real_fdatasync)(int);

static void look_up(void) {
  if (real_pwrite) return;
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_writev = dlsym(RTLD_NEXT, "writev");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  unsynced = malloc(sizeof(struct unsynced) * UNSYNCED_MAX);
}

static int is_store(int fd) {
  char link[64], path[1024];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  char *name = strrchr(path, '/');
  return name && strncmp(name, "/yard.mdb", 9) == 0 && strstr(name, "-lock") == NULL;
}

static int is_safe_at_once(int fd) { return (fcntl(fd, F_GETFL) & O_DSYNC) != 0; }

static long from_environment(const char *name) {
  const char *value = getenv(name);
  return value ? atol(value) : 0;
}

/* Remembers what was there, a page at a time: a disk writes pages, in any order. */
static void remember(int fd, off_t at, size_t size) {
  if (is_safe_at_once(fd)) return;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int reading = open(path, O_RDONLY);
  for (size_t done = 0; done < size && count < UNSYNCED_MAX; done += PAGE) {
    struct unsynced *one = &unsynced[count++];
    one->at = at + done;
    one->size = size - done < PAGE ? size - done : PAGE;
    memset(one->before, 0, PAGE);
    if (pread(reading, one->before, one->size, one->at) < 0) memset(one->before, 0, PAGE);
  }
  close(reading);
}

static void cut(int fd) {
  unsigned seed = (unsigned)from_environment("YARD_SEED");
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int writing = open(path, O_WRONLY);
  for (int each = count - 1; each >= 0; each--) {
    if (rand_r(&seed) % 2) real_pwrite(writing, unsynced[each].before, unsynced[each].size, unsynced[each].at);
  }
  close(writing);
  _exit(66);
}

static void count_call(int fd) {
  calls += 1;
  if (calls == from_environment("YARD_CUT_AT")) cut(fd);
}

static ssize_t seen_pwrite(int fd, const void *bytes, size_t size, off_t at) {
  look_up();
  if (!is_store(fd)) return real_pwrite(fd, bytes, size, at);
  remember(fd, at, size);
  ssize_t written = real_pwrite(fd, bytes, size, at);
  count_call(fd);
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return seen_pwrite(fd, bytes, size, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) { return seen_pwrite(fd, bytes, size, at); }

ssize_t writev(int fd, const struct iovec *parts, int parts_count) {
  look_up();
  if (!is_store(fd)) return real_writev(fd, parts, parts_count);
  size_t size = 0;
  for (int each = 0; each < parts_count; each++) size += parts[each].iov_len;
  remember(fd, lseek(fd, 0, SEEK_CUR), size);
  ssize_t written = real_writev(fd, parts, parts_count);
  count_call(fd);
  return written;
}

int fdatasync(int fd) {
  look_up();
  if (!is_store(fd)) return real_fdatasync(fd);
  count_call(fd);
  long fails_at = from_environment("YARD_EIO_AT");
  static int has_failed;
  if (fails_at && calls >= fails_at && !has_failed) {
    has_failed = 1;
    errno = EIO;
    return -1;
  }
  int result = real_fdatasync(fd);
  count = 0;
  return result;
}
