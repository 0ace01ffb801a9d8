/* A disk that fails, for tests: loaded in front of the C library, it sees every write to the store's file and to its
 * journal and every sync of them, and then
 *
 *   YARD_CUT_AT=N      cuts the power at the N-th of them: of what was written and not synced, some is as if it had
 *                      never been written (YARD_SEED says which), and the process is gone;
 *   YARD_EIO_AT=N      has one sync fail with EIO, the first from the N-th call on. Those after it succeed again, as a
 *                      kernel's do that has thrown the pages away.
 *   YARD_EIO_ON=journal, or mdb: only syncs of that file fail.
 *
 * What goes through a descriptor opened with O_DSYNC is safe when the call returns, and torn when the power is cut in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, UNSYNCED_MAX = 65536 };

struct unsynced {
  int fd;
  off_t at;
  size_t size;
  char before[PAGE];
};

static struct unsynced *unsynced;
static int count;
static long calls;
static int has_failed;
/* The journal is written by another thread than the store. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

/* The rest of its name: "mdb", "journal-1-0"; empty if it is no file of the store's. */
static void name_of(int fd, char *name, size_t size) {
  char link[64], path[1024];
  name[0] = 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  char *last = strrchr(path, '/');
  if (last && strncmp(last, "/yard.", 6) == 0 && strstr(last, "-lock") == NULL) snprintf(name, size, "%s", last + 6);
}

static int is_store(int fd) {
  char name[256];
  name_of(fd, name, sizeof name);
  return name[0] != 0;
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
    one->fd = fd;
    one->at = at + done;
    one->size = size - done < PAGE ? size - done : PAGE;
    memset(one->before, 0, PAGE);
    if (pread(reading, one->before, one->size, one->at) < 0) memset(one->before, 0, PAGE);
  }
  close(reading);
}

static void cut(void) {
  unsigned seed = (unsigned)from_environment("YARD_SEED");
  for (int each = count - 1; each >= 0; each--) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", unsynced[each].fd);
    int writing = open(path, O_WRONLY);
    if (rand_r(&seed) % 2) real_pwrite(writing, unsynced[each].before, unsynced[each].size, unsynced[each].at);
    close(writing);
  }
  _exit(66);
}

static void count_call(void) {
  calls += 1;
  if (calls == from_environment("YARD_CUT_AT")) cut();
}

/* Some sectors of it, and then nothing more. */
static void tear(int fd, const char *bytes, size_t size, off_t at) {
  unsigned seed = (unsigned)from_environment("YARD_SEED");
  for (size_t done = 0; done < size; done += 512) {
    size_t part = size - done < 512 ? size - done : 512;
    if (rand_r(&seed) % 2) real_pwrite(fd, bytes + done, part, at + done);
  }
  cut();
}

static int fails(int fd) {
  long fails_at = from_environment("YARD_EIO_AT");
  if (!fails_at || calls < fails_at || has_failed) return 0;
  const char *only = getenv("YARD_EIO_ON");
  char name[256];
  name_of(fd, name, sizeof name);
  if (only && strncmp(name, only, strlen(only)) != 0) return 0;
  has_failed = 1;
  errno = EIO;
  return 1;
}

static ssize_t seen_pwrite(int fd, const void *bytes, size_t size, off_t at) {
  look_up();
  if (!is_store(fd)) return real_pwrite(fd, bytes, size, at);
  pthread_mutex_lock(&lock);
  if (is_safe_at_once(fd) && calls + 1 == from_environment("YARD_CUT_AT")) tear(fd, bytes, size, at);
  ssize_t written = -1;
  if (!is_safe_at_once(fd) || !fails(fd)) {
    remember(fd, at, size);
    written = real_pwrite(fd, bytes, size, at);
    count_call();
  }
  pthread_mutex_unlock(&lock);
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return seen_pwrite(fd, bytes, size, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) { return seen_pwrite(fd, bytes, size, at); }

ssize_t writev(int fd, const struct iovec *parts, int parts_count) {
  look_up();
  if (!is_store(fd)) return real_writev(fd, parts, parts_count);
  pthread_mutex_lock(&lock);
  size_t size = 0;
  for (int each = 0; each < parts_count; each++) size += parts[each].iov_len;
  remember(fd, lseek(fd, 0, SEEK_CUR), size);
  ssize_t written = real_writev(fd, parts, parts_count);
  count_call();
  pthread_mutex_unlock(&lock);
  return written;
}

int fdatasync(int fd) {
  look_up();
  if (!is_store(fd)) return real_fdatasync(fd);
  pthread_mutex_lock(&lock);
  count_call();
  int result = -1;
  if (!fails(fd)) {
    result = real_fdatasync(fd);
    count = 0;
  }
  pthread_mutex_unlock(&lock);
  return result;
}
