// The program of the image `pause`: does nothing until it is told to end. It is process 1 of a pod's sandbox, and of any
// container that only has to be there.
#include <signal.h>
#include <unistd.h>

static void end(int number) {
  (void)number;
  _exit(0);
}

int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  signal(SIGCHLD, SIG_IGN);  // whoever it inherits leaves no zombie
  for (;;) { pause(); }
}
